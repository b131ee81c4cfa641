// Loads .ts files as plain modules. strip-types.mjs has removed their types. Preload this file with NODE_OPTIONS. Without it, Node also loads the .ts
// files, but with its type stripper.
import {readFileSync} from 'node:fs'
import {registerHooks} from 'node:module'

const program = new URL('..', import.meta.url).href

registerHooks({
  load: (url, context, next) =>
    url.startsWith(program) && url.endsWith('.ts')
      ? {format: 'module', source: readFileSync(new URL(url), 'utf8'), shortCircuit: true}
      : next(url, context),
})
