import {createHash} from 'node:crypto'
import {readdir, readFile, rm, stat} from 'node:fs/promises'
import {hostname} from 'node:os'
import {join} from 'node:path'
import {usage} from './failure.ts'
import type {LocalFile} from './inputs.ts'
import {writePrivately} from './profiles.ts'
import type {Settings} from './settings.ts'

/** Options that apply when the run starts. They do not identify a command, so a repeated command can change them until the run starts. */
export const runOptions = ['route', 'verify', 'write'] as const
export type RunOptions = {[name in (typeof runOptions)[number]]?: string | undefined}

/**
 * The stored state of an interrupted import. `files` contains the id of the upload or source of each file, in the order of the command line. Null:
 * the upload of the file has not begun. `options`: the options of the last command. Earlier releases stored none.
 */
export type KeptImport = {import: string; files: ({upload: string} | {source: string} | null)[]; options?: RunOptions}

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
  await forgetOld(folder)
  let isTold = false
  const trying = async (act: () => Promise<void>) => {
    await act().catch(error => {
      if (!isTold) warn(`Could not write to ${folder} (${error.code}). An interrupted upload cannot be resumed`)
      isTold = true
    })
  }
  return {
    async read(): Promise<KeptImport | null> {
      const {by, ...kept} = await readFile(path, 'utf8')
        .then(JSON.parse)
        .catch(() => ({}))
      if (by && isAlive(by)) throw atWork(kept.import, by.pid)
      return kept.import && Array.isArray(kept.files) ? kept : null
    },
    write: (kept: KeptImport) => trying(() => writePrivately(path, JSON.stringify({...kept, by: {host: hostname(), pid: process.pid}}))),
    forget: () => trying(() => rm(path, {force: true})),
  }
}

/** Whether another process is running this import. Two processes would upload into the same import and run it twice. */
const isAlive = ({host, pid}: {host: string; pid: number}) => {
  if (host !== hostname() || pid === process.pid) return false
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

const atWork = (importId: string, pid: number) =>
  usage(
    `The same command is already running: process ${pid} imports these files as ${importId}`,
    'Wait for it, or add --fresh to import them a second time',
  )

const forgetOld = async (folder: string) => {
  for (const name of await readdir(folder).catch(() => [])) {
    const found = await stat(join(folder, name)).catch(() => null)
    if (found && Date.now() - found.mtimeMs > keepDays * 86_400_000) await rm(join(folder, name), {force: true})
  }
}
