// Loads .ts files whose types strip-types.mjs has removed as plain modules. Preload it with NODE_OPTIONS; without it, Node loads them too.
import {readFileSync} from 'node:fs'
import {registerHooks} from 'node:module'

const program = new URL('..', import.meta.url).href

registerHooks({
  load: (url, context, next) =>
    url.startsWith(program) && url.endsWith('.ts')
      ? {format: 'module', source: readFileSync(new URL(url), 'utf8'), shortCircuit: true}
      : next(url, context),
})
