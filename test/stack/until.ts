import fs from 'node:fs'
import {setTimeout as sleep} from 'node:timers/promises'

/** Waits for something to become true, and says what it was when it never does. */
export const until = async (what: string, isTrue: () => unknown, {seconds = 10} = {}) => {
  for (const end = Date.now() + seconds * 1000; Date.now() < end; await sleep(20)) if (await isTrue()) return
  throw new Error(`Not within ${seconds} seconds: ${what}`)
}

/** A process that has ended but that nobody has collected is not running. */
export const isRunning = (pid: number) => {
  try {
    process.kill(pid, 0)
    return process.platform !== 'linux' || !/\) Z /.test(fs.readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
