import fs from 'node:fs'

/** Whether the process runs. On Linux, a process that has ended but was not collected by its parent does not count. */
export const isRunning = (pid: number) => {
  try {
    process.kill(pid, 0)
    return process.platform !== 'linux' || !/\) Z /.test(fs.readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
