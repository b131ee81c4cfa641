import {execFile} from 'node:child_process'
import {promisify} from 'node:util'

/** Lists the ids of all descendants of a process. */
export const descendantsOf = async (pid: number): Promise<number[]> => {
  const {stdout} = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid='])
  const pairs = stdout
    .trim()
    .split('\n')
    .map(line => line.trim().split(/\s+/).map(Number))
  const below = (parent: number): number[] => pairs.flatMap(([child, of]) => (of === parent ? [child!, ...below(child!)] : []))
  return below(pid)
}
