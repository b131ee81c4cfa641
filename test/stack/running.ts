import fs from 'node:fs'

/** A process that has ended without being collected by its parent is not running. */
export const isRunning = (pid: number) => {
  try {
    process.kill(pid, 0)
    return process.platform !== 'linux' || !/\) Z /.test(fs.readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
