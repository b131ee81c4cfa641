import {readFileSync} from 'node:fs'
import {readModule} from './module-source.ts'
import {HELPERS} from './names.ts'

/** The scripts that run inside the sandbox. `helpers` is the source of a function `(zoneOffset) => helpers`. */
export type Scripts = {harden: string; driver: string; helpers: string}

let known: Scripts | null = null

/** Reads and parses the scripts once per process. A sandbox thread receives the texts, so the thread needs no parser. */
export const builtinScripts = (): Scripts => {
  known ??= {harden: asFunction(codeOf('harden'), 'harden()'), driver: asFunction(codeOf('driver'), 'drive'), helpers: helpersScript()}
  return known
}

const codeOf = (name: string) => readModule(readFileSync(new URL(`inside/${name}.js`, import.meta.url), 'utf8'), () => {}).code

const asFunction = (code: string, answer: string) => `(() => {"use strict";\n${code}\nreturn ${answer}\n})()`

/** The modules of the helpers in dependency order; they are joined into one function. */
const FILES = ['as-text', 'text', 'lists', 'numbers', 'contacts', 'hash', 'calendar', 'date-tokens', 'dates']

const helpersScript = () =>
  `((zoneOffset) => {"use strict";\n${FILES.map(name => codeOf(`helpers/${name}`)).join('\n')}\nreturn {${HELPERS.join(', ')}}\n})`
