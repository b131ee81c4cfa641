import {readFileSync} from 'node:fs'
import module from 'node:module'
import {fileURLToPath} from 'node:url'
import amaro from 'amaro'

/**
 * The root of the package. The hook below strips the types of the package's own files when they are loaded, because Node does not strip types in
 * `node_modules`.
 */
const home = new URL('../..', import.meta.url).href

module.registerHooks({
  load(url, context, next) {
    if (!url.startsWith(home) || !url.endsWith('.ts') || url.slice(home.length).startsWith('node_modules/')) return next(url, context)
    const {code} = amaro.transformSync(readFileSync(fileURLToPath(url), 'utf8'), {mode: 'strip-only'})
    return {format: 'module', shortCircuit: true, source: code}
  },
})
