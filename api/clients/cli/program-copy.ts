import {createHash} from 'node:crypto'
import {cpSync, existsSync, globSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync} from 'node:fs'
import {dirname, join} from 'node:path'
import {fileURLToPath} from 'node:url'

/** The folder of the package: a checkout, or `node_modules/lading`. */
export const packageFolder = fileURLToPath(new URL('../../..', import.meta.url))

const parts = ['package.json', 'Procfile', 'api', 'shared', 'sql', 'test', 'workers']

/**
 * Returns a folder from which Node can run the service: the checkout, or a copy of an installed package below `directory`. The copy is made once
 * per release, because Node strips no types in `node_modules` and threads of the service cannot use module hooks that strip them. Links beside the
 * copy lead to its packages.
 */
export const openProgram = (directory: string): string => {
  if (!packageFolder.includes('/node_modules/')) return packageFolder
  const place = join(directory, 'program')
  const name = digestOf(packageFolder)
  const copy = join(place, name)
  if (existsSync(copy)) return copy
  mkdirSync(place, {recursive: true})
  const draft = `${copy}.${process.pid}`
  for (const part of parts) cpSync(join(packageFolder, part), join(draft, part), {recursive: true})
  const nested = join(packageFolder, 'node_modules')
  if (existsSync(nested)) symlinkSync(nested, join(draft, 'node_modules'))
  const siblings = join(place, 'node_modules')
  rmSync(siblings, {force: true})
  symlinkSync(dirname(packageFolder.replace(/\/$/, '')), siblings)
  renameSync(draft, copy)
  for (const other of readdirSync(place)) if (other !== name && other !== 'node_modules') rmSync(join(place, other), {recursive: true})
  return copy
}

/** Returns a digest of the package's program files and of its path, because the links of the copy lead to that path. */
const digestOf = (folder: string) => {
  const digest = createHash('sha256').update(folder)
  const files = globSync(['package.json', 'Procfile', '{api,shared,sql,test,workers}/**/*.*'], {cwd: folder, withFileTypes: true})
  for (const path of files
    .filter(file => file.isFile())
    .map(file => join(file.parentPath, file.name))
    .sort())
    digest.update(`\0${path}\0`).update(readFileSync(path))
  return digest.digest('hex').slice(0, 12)
}
