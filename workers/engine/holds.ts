import type {Row} from './row.ts'

/**
 * Rows that share a match key, a unique value or a record are written one after another, in the order of the file: as if the
 * file were worked row by row. A row holds all it needs or waits for the first thing it lacks.
 */
export type Holds = {
  /** True when the row holds everything; false when it waits. */
  take(row: Row): boolean
  /** Adds a record to what a holding row holds; false when another row holds it and this one now waits for it. */
  takeRecord(row: Row, recordId: string): boolean
  /** Gives up all of a row's holds and answers the rows that waited for any of them, in the order of the file. */
  release(row: Row): Row[]
  waiting(): number
}

export const openHolds = (): Holds => {
  const held = new Map<string, Row>()
  const lines = new Map<string, Row[]>()
  let waiting = 0

  const wait = (row: Row, key: string) => {
    const line = lines.get(key)
    if (line) line.push(row)
    else lines.set(key, [row])
    waiting++
  }

  return {
    waiting: () => waiting,
    take(row) {
      const blocked = row.holds.find(key => held.has(key) && held.get(key) !== row)
      if (blocked !== undefined) {
        wait(row, blocked)
        return false
      }
      for (const key of row.holds) held.set(key, row)
      return true
    },
    takeRecord(row, recordId) {
      const key = `id=${recordId}`
      if (held.has(key) && held.get(key) !== row) {
        wait(row, key)
        return false
      }
      held.set(key, row)
      if (!row.holds.includes(key)) row.holds.push(key)
      return true
    },
    release(row) {
      const freed: Row[] = []
      for (const key of row.holds) {
        if (held.get(key) !== row) continue
        held.delete(key)
        freed.push(...(lines.get(key) ?? []))
        lines.delete(key)
      }
      waiting -= freed.length
      return freed.sort((a, b) => a.number - b.number)
    },
  }
}
