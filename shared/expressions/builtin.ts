import {readFileSync} from 'node:fs'
import {readModule} from './module-source.ts'
import {HELPERS} from './names.ts'

/** The sources that run inside, as scripts. Read once a thread. */
const read = (name: string) => readFileSync(new URL(`inside/${name}.js`, import.meta.url), 'utf8')

const asFunction = (code: string, answer: string) => `(() => {"use strict";\n${code}\nreturn ${answer}\n})()`

export const hardenScript = () => asFunction(readModule(read('harden'), () => {}).code, 'harden()')
export const driverScript = () => asFunction(readModule(read('driver'), () => {}).code, 'drive')

/** Imported by one another under these names, so they run in this order, as one function. */
const FILES = ['as-text', 'text', 'lists', 'numbers', 'contacts', 'hash', 'calendar', 'dates']

/** `(zoneOffset) => helpers`. */
export const helpersScript = () =>
  `((zoneOffset) => {"use strict";\n${FILES.map(name => readModule(read(`helpers/${name}`), () => {}).code).join('\n')}\nreturn {${HELPERS.join(', ')}}\n})`
