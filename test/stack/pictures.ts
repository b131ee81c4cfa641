import {mkdirSync} from 'node:fs'
import {join, resolve} from 'node:path'
import {root} from './stack.ts'

/** The pictures of the README. They change with every run, so only `PICTURES=test/browser/pictures npm run test:browser` renews them. */
const kept = ['mapping', 'try', 'run', 'results', 'phone']

/** The path for a picture of the browser tests: a temporary directory, except for README pictures when PICTURES is set. */
export const pathOfPicture = (name: string): string => {
  const {PICTURES} = process.env
  const directory = PICTURES && kept.includes(name) ? resolve(PICTURES) : join(root, '.data', 'browser')
  mkdirSync(directory, {recursive: true})
  return join(directory, `${name}.png`)
}
