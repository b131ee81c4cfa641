import {mkdirSync} from 'node:fs'
import {join, resolve} from 'node:path'
import {root} from './stack.ts'

/** What the README shows. `PICTURES=test/browser/pictures npm run test:browser` renews them, on purpose: times and sizes in them differ each time. */
const kept = ['mapping', 'try', 'run', 'results', 'phone']

/** Where the browser tests put a picture: among those nobody keeps, unless it is one of the README's and these are to be renewed. */
export const pathOfPicture = (name: string): string => {
  const {PICTURES} = process.env
  const directory = PICTURES && kept.includes(name) ? resolve(PICTURES) : join(root, '.data', 'browser')
  mkdirSync(directory, {recursive: true})
  return join(directory, `${name}.png`)
}
