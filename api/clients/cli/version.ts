import {readFileSync} from 'node:fs'

/** As the package has it, in the checkout and where it is installed. */
export const readVersion = (): string => JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')).version
