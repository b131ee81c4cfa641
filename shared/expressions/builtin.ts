import {readFileSync} from 'node:fs'
import {readModule} from './module-source.ts'
import {HELPERS} from './names.ts'

/** The sources that run inside, as scripts. `helpers` is `(zoneOffset) => helpers`. */
export type Scripts = {harden: string; driver: string; helpers: string}

let known: Scripts | null = null

/** Read and parsed once a process: each thread is given the texts, and needs no parser of its own. */
export const builtinScripts = (): Scripts => {
  known ??= {harden: asFunction(codeOf('harden'), 'harden()'), driver: asFunction(codeOf('driver'), 'drive'), helpers: helpersScript()}
  return known
}

const codeOf = (name: string) => readModule(readFileSync(new URL(`inside/${name}.js`, import.meta.url), 'utf8'), () => {}).code

const asFunction = (code: string, answer: string) => `(() => {"use strict";\n${code}\nreturn ${answer}\n})()`

/** Imported by one another under these names, so they run in this order, as one function. */
const FILES = ['as-text', 'text', 'lists', 'numbers', 'contacts', 'hash', 'calendar', 'date-tokens', 'dates']

const helpersScript = () =>
  `((zoneOffset) => {"use strict";\n${FILES.map(name => codeOf(`helpers/${name}`)).join('\n')}\nreturn {${HELPERS.join(', ')}}\n})`
