import {createHash} from 'node:crypto'
import {readdir, readFile, rm, stat} from 'node:fs/promises'
import {join} from 'node:path'
import type {LocalFile} from './inputs.ts'
import {writePrivately} from './profiles.ts'
import type {Settings} from './settings.ts'

/** What has been done of an import that was not started yet: where its files went, by their place on the command line. */
export type Kept = {import: string; files: ({upload: string} | {source: string} | null)[]}

const keepDays = 7

/** What makes a command the same again: where to, how, and files that nobody has touched since. */
export type Named = {server: string; org: string; how: object; files: readonly LocalFile[]}

/**
 * Remembers an import until its run is begun, so that the same command carries on what was interrupted. Where nothing can be kept, as in a
 * container without a home, that is told once, and is no reason not to import.
 */
export const openKept = async ({stateDirectory}: Settings, {server, org, how, files}: Named, warn: (text: string) => void) => {
  const folder = join(stateDirectory, 'imports')
  const named = files.map(({path, bytes, modifiedMs, slot}) => [path, bytes, modifiedMs, slot])
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
      const text = await readFile(path, 'utf8').catch(() => null)
      try {
        return text === null ? null : JSON.parse(text)
      } catch {
        return null
      }
    },
    write: (kept: Kept) => trying(() => writePrivately(path, JSON.stringify(kept))),
    forget: () => trying(() => rm(path, {force: true})),
  }
}

const forgetOld = async (folder: string) => {
  for (const name of await readdir(folder).catch(() => [])) {
    const found = await stat(join(folder, name)).catch(() => null)
    if (found && Date.now() - found.mtimeMs > keepDays * 86_400_000) await rm(join(folder, name), {force: true})
  }
}
