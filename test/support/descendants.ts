import {execFile} from 'node:child_process'
import {promisify} from 'node:util'

/** Returns the ids of all processes below one. */
export const descendantsOf = async (pid: number): Promise<number[]> => {
  const {stdout} = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid='])
  const pairs = stdout
    .trim()
    .split('\n')
    .map(line => line.trim().split(/\s+/).map(Number))
  const below = (parent: number): number[] => pairs.flatMap(([child, of]) => (of === parent ? [child!, ...below(child!)] : []))
  return below(pid)
}
