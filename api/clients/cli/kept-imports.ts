import {createHash} from 'node:crypto'
import {readFileSync, rmSync} from 'node:fs'
import {mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile} from 'node:fs/promises'
import {hostname} from 'node:os'
import {dirname, join} from 'node:path'
import {usage} from './failure.ts'
import type {LocalFile} from './inputs.ts'
import {writePrivately} from './profiles.ts'
import type {Settings} from './settings.ts'

/** Options that apply when the run starts. They do not identify a command, so a repeated command can change them until the run starts. */
export const runOptions = ['route', 'verify', 'write'] as const
export type RunOptions = {[name in (typeof runOptions)[number]]?: string | undefined}

/**
 * The stored state of an interrupted import. `files` contains the id of the upload or source of each file, in the order of the command line. Null:
 * the upload of the file has not begun. `options`: the options of the last command. `version`: the version of the template. Earlier releases stored
 * neither.
 */
export type KeptImport = {import: string; files: ({upload: string} | {source: string} | null)[]; options?: RunOptions; version?: number}

const keepDays = 7

/** The values that identify a repeated command: the target, the options and unchanged files. */
export type NamedImport = {server: string; org: string; how: object; files: readonly LocalFile[]}

/**
 * Opens the stored state with which the same command resumes an import. `forget` deletes the state; states older than `keepDays` days are deleted
 * here. If nothing can be stored, as in a container without a home directory, warns once and continues.
 */
export const openKept = async ({stateDirectory}: Settings, {server, org, how, files}: NamedImport, warn: (text: string) => void) => {
  const folder = join(stateDirectory, 'imports')
  const named = files.map(({path, bytes, modifiedMs, slot, digest}) => [...(digest ? [digest] : [path, modifiedMs]), bytes, slot])
  const key = createHash('sha256')
    .update(JSON.stringify([server, org, how, named]))
    .digest('hex')
    .slice(0, 32)
  const path = join(folder, `${key}.json`)
  const lock = join(folder, `${key}.lock`)
  await forgetOld(folder)
  let isTold = false
  const trying = <T>(act: () => Promise<T>) =>
    act().catch(error => {
      if (!isTold) warn(`Could not write to ${folder} (${error.code}). An interrupted upload cannot be resumed`)
      isTold = true
      return undefined
    })
  /** Changes the state unless a later command with --fresh took the claim over. */
  const change = (act: () => Promise<void>) => trying(async () => (isOurs(lock) ? act() : undefined))
  return {
    /** Claims the command for this process until it ends, and reads its state. Throws if another process has claimed it, unless `isFresh`. */
    async read(isFresh = false): Promise<KeptImport | null> {
      const holder = await trying(() => claim(lock, isFresh))
      const kept = await readFile(path, 'utf8')
        .then(JSON.parse)
        .catch(() => ({}))
      if (holder) throw atWork(holder, kept.import)
      return !isFresh && kept.import && Array.isArray(kept.files) ? kept : null
    },
    write: (kept: KeptImport) => change(() => writePrivately(path, JSON.stringify(kept))),
    forget: () => change(() => rm(path, {force: true})),
  }
}

const ours = `${process.pid} of ${hostname()}`
const renewMs = 20_000
const staleMs = 60_000

/**
 * Claims a command with a file, because two processes would upload into the same import and run it twice. Returns the live process that holds the
 * claim, or null once this process holds it. `isForced`: takes the claim from a live process too.
 */
const claim = async (lock: string, isForced: boolean): Promise<string | null> => {
  await mkdir(dirname(lock), {recursive: true, mode: 0o700})
  try {
    await writeFile(lock, ours, {flag: 'wx', mode: 0o600})
    setInterval(() => utimes(lock, new Date(), new Date()).catch(() => {}), renewMs).unref()
    process.once('exit', () => isOurs(lock) && rmSync(lock, {force: true}))
    return null
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
  }
  try {
    const text = await readFile(lock, 'utf8')
    if (!isForced && (await isAlive(text, lock))) return text || 'unknown'
    const taken = `${lock}.${process.pid}`
    await rename(lock, taken)
    // Another process may have replaced the claim between the read and the rename.
    await ((await readFile(taken, 'utf8')) === text ? rm(taken) : rename(taken, lock))
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
  }
  return claim(lock, isForced)
}

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code

const isOurs = (lock: string) => {
  try {
    return readFileSync(lock, 'utf8') === ours
  } catch {
    return false
  }
}

/** Whether the process still runs. Judges a process of another host, or one that has not yet written its name, by the time of its claim. */
const isAlive = async (holder: string, lock: string) => {
  const [pid, host] = holder.split(' of ')
  if (host !== hostname()) return Date.now() - (await stat(lock)).mtimeMs < staleMs
  if (holder === ours) return false
  try {
    return process.kill(Number(pid), 0)
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}

const atWork = (holder: string, importId = 'a new import') =>
  usage(
    `The same command is already running: process ${holder} imports these files as ${importId}`,
    'Wait for it, or add --fresh to import them a second time',
  )

const forgetOld = async (folder: string) => {
  for (const name of await readdir(folder).catch(() => [])) {
    const found = await stat(join(folder, name)).catch(() => null)
    if (found && Date.now() - found.mtimeMs > keepDays * 86_400_000) await rm(join(folder, name), {force: true})
  }
}
