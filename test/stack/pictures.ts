import {mkdirSync} from 'node:fs'
import {join, resolve} from 'node:path'
import {root} from './stack.ts'

/** Where the browser tests put their pictures: nobody keeps those of every run. `PICTURES=test/browser/pictures` renews the README's. */
export const picturesDirectory = (): string => {
  const directory = process.env.PICTURES ? resolve(process.env.PICTURES) : join(root, '.data', 'browser')
  mkdirSync(directory, {recursive: true})
  return directory
}
