import type {ImportRow} from './model.ts'

/**
 * Row locks. Rows that share a match key, a unique value or a record are written one after another, in file order. Each key has a queue,
 * ordered by row number behind the row that holds the key. A row proceeds when it is first in all of its queues.
 */
export type RowLocks = {
  /** Queues the row for all its keys. Call it in file order. Returns true if the row holds every key, false if it waits. */
  acquire(row: ImportRow): boolean
  /** Queues the row for the record too. Returns false if the row must wait for another row. */
  acquireRecord(row: ImportRow, recordId: string): boolean
  /** Releases all locks of the row. Returns the rows that now hold every key, in file order. */
  release(row: ImportRow): ImportRow[]
}

export const openRowLocks = (): RowLocks => {
  const lines = new Map<string, ImportRow[]>()
  /** The rows for which other rows may wait, by row key. */
  const parents = new Map<string, ImportRow>()

  const join = (row: ImportRow, key: string) => {
    const line = lines.get(key)
    if (!line) return void lines.set(key, [row])
    let at = line.length
    while (at > 1 && line[at - 1]!.number > row.number) at--
    line.splice(at, 0, row)
  }
  const isFirst = (row: ImportRow) => row.lockKeys.every(key => lines.get(key)![0] === row)
  const leave = (row: ImportRow, key: string) => {
    const line = lines.get(key)!
    line.splice(line.indexOf(row), 1)
    if (line.length === 0) lines.delete(key)
    return line
  }

  return {
    acquire(row) {
      // Each waiting row gets its own queue, so rows that wait for the same parent do not wait for each other.
      for (const parent of row.waitsFor?.flatMap(key => parents.get(key) ?? []) ?? []) {
        const key = `of=${parent.key} ${row.key}`
        lines.set(key, [parent])
        parent.lockKeys.push(key)
        row.lockKeys.push(key)
      }
      if (row.isAwaited) parents.set(row.key, row)
      for (const key of row.lockKeys) join(row, key)
      return isFirst(row)
    },
    acquireRecord(row, recordId) {
      const key = `id=${recordId}`
      if (!row.lockKeys.includes(key)) {
        join(row, key)
        row.lockKeys.push(key)
      }
      return isFirst(row)
    },
    release(row) {
      parents.delete(row.key)
      const next: ImportRow[] = []
      for (const key of row.lockKeys) {
        const first = leave(row, key)[0]
        if (first && !next.includes(first)) next.push(first)
      }
      return next.length === 0 ? next : next.filter(isFirst).sort((a, b) => a.number - b.number)
    },
  }
}
