import {execFileSync} from 'node:child_process'
import fs from 'node:fs'

type Family = {parent: number; group: number}

const everyMs = 500

/**
 * Calls `onEnd` once when an ancestor of this process in its process group has ended: npm, a shell that npm started, the command line. A
 * terminal gives each command its own group, so an interactive shell does not count.
 */
export const watchAncestors = (onEnd: () => void): void => {
  const links = linksOf(process.pid)
  if (links.length === 0) return
  const timer = setInterval(() => {
    if (links.every(({pid, parent}) => familyOf(pid)?.parent === parent)) return
    clearInterval(timer)
    onEnd()
  }, everyMs)
}

const linksOf = (pid: number): {pid: number; parent: number}[] => {
  const own = familyOf(pid)
  if (!own || familyOf(own.parent)?.group !== own.group) return []
  return [{pid, parent: own.parent}, ...linksOf(own.parent)]
}

const familyOf = (pid: number): Family | null => {
  try {
    const [parent, group] = process.platform === 'linux' ? fromProc(pid) : fromPs(pid)
    return {parent: Number(parent), group: Number(group)}
  } catch {
    return null
  }
}

/**
 * Returns the parent and the process group. The name of the program is in brackets and can contain spaces and brackets; the state, parent
 * and group follow it.
 */
const fromProc = (pid: number) => {
  const text = fs.readFileSync(`/proc/${pid}/stat`, 'utf8')
  return text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .slice(1, 3)
}

const fromPs = (pid: number) =>
  execFileSync('ps', ['-o', 'ppid=,pgid=', '-p', `${pid}`], {encoding: 'utf8'})
    .trim()
    .split(/\s+/)
