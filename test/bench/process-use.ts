import {readFileSync} from 'node:fs'

const ticksPerSecond = 100

/** Returns the processor seconds that all threads of a process have used. It works on Linux only. */
export const processorSecondsOf = (pid: number) => {
  // The second field is the program's name in brackets, which may contain any character.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ')
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
}

/** Returns the peak memory of a process, all threads, in MiB (VmHWM of proc(5)). */
export const peakMemoryMbOf = (pid: number) => {
  const [, kib] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  if (kib === undefined) throw new Error(`The peak memory of process ${pid} is not told`)
  return Number(kib) / 1024
}
