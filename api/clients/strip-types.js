import {existsSync, readFileSync} from 'node:fs'
import module from 'node:module'
import {fileURLToPath} from 'node:url'

/**
 * Loads the package's own files without their types, because Node does not strip types in `node_modules`. `npm pack` wrote the stripped text of
 * each file to `dist/`. A package without it strips types when files are loaded, so each command starts a quarter of a second later.
 */
const home = new URL('../..', import.meta.url).href
const dist = new URL('dist/', home)
const amaro = existsSync(dist) ? null : (await import('amaro')).default

/** Returns the text of a file without its types. Positions are the same, so stack traces name places in the file itself. */
const readStripped = url =>
  amaro
    ? amaro.transformSync(readFileSync(fileURLToPath(url), 'utf8'), {mode: 'strip-only'}).code
    : readFileSync(new URL(url.slice(home.length).replace(/ts$/, 'js'), dist), 'utf8')

module.registerHooks({
  load(url, context, next) {
    if (!url.startsWith(home) || !url.endsWith('.ts') || url.slice(home.length).startsWith('node_modules/')) return next(url, context)
    return {format: 'module', shortCircuit: true, source: readStripped(url)}
  },
})
