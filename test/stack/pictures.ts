import {mkdirSync} from 'node:fs'
import {join, resolve} from 'node:path'
import {root} from './stack.ts'

/** The pictures of the README. They differ in every run, so only `PICTURES=test/browser/pictures npm run test:browser` replaces them. */
const kept = ['mapping', 'try', 'run', 'results', 'phone']

/** Returns the path for a picture of the browser tests: in PICTURES for a picture of the README, if it is set, otherwise in `.data/browser`. */
export const pathOfPicture = (name: string): string => {
  const {PICTURES} = process.env
  const directory = PICTURES && kept.includes(name) ? resolve(PICTURES) : join(root, '.data', 'browser')
  mkdirSync(directory, {recursive: true})
  return join(directory, `${name}.png`)
}
