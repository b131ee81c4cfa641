import {createHash} from 'node:crypto'
import {readdir, readFile, rm, stat} from 'node:fs/promises'
import {hostname} from 'node:os'
import {join} from 'node:path'
import {usage} from './failure.ts'
import type {LocalFile} from './inputs.ts'
import {writePrivately} from './profiles.ts'
import type {Settings} from './settings.ts'

/** What has been done of an import that was not started yet: where its files went, by their place on the command line. */
export type Kept = {import: string; files: ({upload: string} | {source: string} | null)[]}

const keepDays = 7

/** What makes a command the same again: where to, how, and files that nobody has touched since. */
export type Named = {server: string; org: string; how: object; files: readonly LocalFile[]}

/**
 * Remembers an import until its run is begun, and has ended where it is watched, so that the same command carries on what was interrupted. Where nothing can be kept, as in a
 * container without a home, that is told once, and is no reason not to import.
 */
export const openKept = async ({stateDirectory}: Settings, {server, org, how, files}: Named, warn: (text: string) => void) => {
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
      if (!isTold) warn(`${folder} cannot be written to, so an upload that is interrupted begins anew (${error.code})`)
      isTold = true
    })
  }
  return {
    async read(): Promise<Kept | null> {
      const {by, ...kept} = await readFile(path, 'utf8')
        .then(JSON.parse)
        .catch(() => ({}))
      if (by && isAlive(by)) throw atWork(kept.import, by.pid)
      return kept.import && Array.isArray(kept.files) ? kept : null
    },
    write: (kept: Kept) => trying(() => writePrivately(path, JSON.stringify({...kept, by: {host: hostname(), pid: process.pid}}))),
    forget: () => trying(() => rm(path, {force: true})),
  }
}

/** Whether the process that keeps it still runs: two would send into one import, and run it twice. */
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
    `The same command is under way already: process ${pid} imports these files as ${importId}`,
    'Wait for it, or add --fresh to import them a second time',
  )

const forgetOld = async (folder: string) => {
  for (const name of await readdir(folder).catch(() => [])) {
    const found = await stat(join(folder, name)).catch(() => null)
    if (found && Date.now() - found.mtimeMs > keepDays * 86_400_000) await rm(join(folder, name), {force: true})
  }
}
