import {createHash} from 'node:crypto'
import {
  cpSync,
  existsSync,
  globSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
} from 'node:fs'
import {dirname, join} from 'node:path'
import {fileURLToPath} from 'node:url'

/** The folder of the package: a checkout, or `node_modules/lading`. */
export const packageFolder = fileURLToPath(new URL('../../..', import.meta.url))

const parts = ['package.json', 'Procfile', 'api', 'shared', 'sql', 'test', 'workers']

/** Copies that were not opened for this long are deleted. */
const unusedMs = 7 * 24 * 60 * 60_000

/**
 * Returns a folder from which Node can run the service: the checkout, or a copy of an installed package below `directory`. The copy is made once
 * per release, because Node strips no types in `node_modules` and threads of the service cannot use module hooks that strip them. Processes of
 * several releases may use their copies at the same time.
 */
export const openProgram = (directory: string): string => {
  if (!packageFolder.includes('/node_modules/')) return packageFolder
  const place = join(directory, 'program')
  const folder = join(place, digestOf(packageFolder))
  if (!existsSync(folder)) makeCopy(folder)
  const now = new Date()
  utimesSync(folder, now, now)
  for (const other of readdirSync(place)) {
    const usedAt = lstatSync(join(place, other), {throwIfNoEntry: false})?.mtimeMs ?? 0
    if (usedAt < now.getTime() - unusedMs) rmSync(join(place, other), {recursive: true, force: true})
  }
  return join(folder, 'lading')
}

/** Copies the package to `lading` below the folder. Links in the folder lead to the packages of the installed package. */
const makeCopy = (folder: string) => {
  mkdirSync(dirname(folder), {recursive: true})
  const draft = mkdtempSync(`${folder}.`)
  for (const part of parts) cpSync(join(packageFolder, part), join(draft, 'lading', part), {recursive: true})
  const nested = join(packageFolder, 'node_modules')
  if (existsSync(nested)) symlinkSync(nested, join(draft, 'lading', 'node_modules'))
  symlinkSync(dirname(packageFolder.replace(/\/$/, '')), join(draft, 'node_modules'))
  try {
    renameSync(draft, folder)
  } catch (error) {
    rmSync(draft, {recursive: true})
    // Another process has made the same copy meanwhile.
    if (!existsSync(folder)) throw error
  }
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
