import {globSync} from 'node:fs'
import {mkdtemp, rename, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import type {StartedParts} from '../support/deployment.ts'

const [library] = globSync('/usr/lib/*/faketime/libfaketime.so.1')

/** Whether processes can get a separate clock on this machine, which needs Debian's `faketime`. */
export const hasOwnClocks = library !== undefined

export type OwnClock = {
  /** The environment variables of a process that uses this clock. */
  environment: Record<string, string>
  /** Sets the offset from the machine's clock, in hours; a process notices within a second. */
  set(hours: number): Promise<void>
}

/** Opens a wall clock that the test can move while a process runs. Timers and file times do not move. */
export const openOwnClock = async (begun: StartedParts, hours = 0): Promise<OwnClock> => {
  const directory = await mkdtemp(join(tmpdir(), 'lading-clock-'))
  begun(() => rm(directory, {recursive: true}))
  const file = join(directory, 'offset')
  const set = async (to: number) => {
    await writeFile(`${file}.new`, `${to < 0 ? '' : '+'}${to * 3_600}`)
    await rename(`${file}.new`, file)
  }
  await set(hours)
  const faked = {LD_PRELOAD: library ?? '', FAKETIME_TIMESTAMP_FILE: file, FAKETIME_CACHE_DURATION: '1'}
  return {environment: hasOwnClocks ? {...faked, FAKETIME_DONT_FAKE_MONOTONIC: '1', DONT_FAKE_MONOTONIC: '1', NO_FAKE_STAT: '1'} : {}, set}
}
