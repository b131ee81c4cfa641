import {globSync} from 'node:fs'
import {mkdtemp, rename, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import type {Begun} from '../deployment.ts'

const [library] = globSync('/usr/lib/*/faketime/libfaketime.so.1')

/** Whether processes here can be given a clock of their own: Debian's `faketime` does it. */
export const hasOwnClocks = library !== undefined

export type OwnClock = {
  /** Of a process that is to live by it. */
  environment: Record<string, string>
  /** Off the machine's own by so many hours, from now on; a process notices within a second. */
  set(hours: number): Promise<void>
}

/** A wall clock that can be moved under a living process. Timers and the times of files stay true. */
export const openOwnClock = async (begun: Begun, hours = 0): Promise<OwnClock> => {
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
