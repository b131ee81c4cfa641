import type {Row} from './row.ts'

/**
 * Rows that share a match key, a unique value or a record are written one after another, in the order of the file: as if the
 * file were worked row by row. Each key has a line, and a row goes on when it is first in all of its lines; so no row passes
 * another that waits for a key of both, and none waits for a later one.
 */
export type Holds = {
  /** Rows come here in the order of the file. True when the row holds everything it needs; false when it waits. */
  take(row: Row): boolean
  /** Adds a record to what a holding row needs; false when another row holds it and this one now waits for it. */
  takeRecord(row: Row, recordId: string): boolean
  /** Gives up all of a row's holds and answers the rows that now hold everything, in the order of the file. */
  release(row: Row): Row[]
}

export const openHolds = (): Holds => {
  const lines = new Map<string, Row[]>()
  /** Those that others may wait for by their row key. */
  const parents = new Map<string, Row>()

  /** By row number, behind the one that holds the key. */
  const join = (row: Row, key: string) => {
    const line = lines.get(key)
    if (!line) return void lines.set(key, [row])
    let at = line.length
    while (at > 1 && line[at - 1]!.number > row.number) at--
    line.splice(at, 0, row)
  }
  const isFirst = (row: Row) => row.holds.every(key => lines.get(key)![0] === row)
  const leave = (row: Row, key: string) => {
    const line = lines.get(key)!
    line.splice(line.indexOf(row), 1)
    if (line.length === 0) lines.delete(key)
    return line
  }

  return {
    take(row) {
      // A line of their own: rows that wait for one row do not wait for each other.
      for (const parent of row.waitsFor?.flatMap(key => parents.get(key) ?? []) ?? []) {
        const key = `of=${parent.key} ${row.key}`
        lines.set(key, [parent])
        parent.holds.push(key)
        row.holds.push(key)
      }
      if (row.isAwaited) parents.set(row.key, row)
      for (const key of row.holds) join(row, key)
      return isFirst(row)
    },
    takeRecord(row, recordId) {
      const key = `id=${recordId}`
      if (!row.holds.includes(key)) {
        join(row, key)
        row.holds.push(key)
      }
      return isFirst(row)
    },
    release(row) {
      parents.delete(row.key)
      const next = new Set<Row>()
      for (const key of row.holds) {
        const [first] = leave(row, key)
        if (first) next.add(first)
      }
      return [...next].filter(isFirst).sort((a, b) => a.number - b.number)
    },
  }
}
