import {Refusal} from '../../errors.ts'
import {readSheet} from './sheet.ts'
import {readWorkbook, type Sheet} from './workbook.ts'
import {openZip, type StoredObject} from './zip.ts'

/** Maximum rows read in all sheets together. Reading them takes about a second. */
const mostRead = 100_000

/** `rows`: the number of rows after the first row with a cell, up to the last row with a cell. Undefined if the rows were not counted. */
export type CountedSheet = Sheet & {rows?: number}

/**
 * Counts the rows of all sheets except `read`. A sheet that cannot be read gets no count. The sheet that exceeds `mostRead` and all later sheets get
 * no count either.
 */
export const countRowsOfOthers = async (object: StoredObject, read: string, unpacked: number): Promise<CountedSheet[]> => {
  const zip = await openZip(object, unpacked)
  let left = mostRead
  const countIn = async (path: string): Promise<number | null> => {
    let [first, last] = [null as number | null, 0]
    for await (const rows of readSheet(zip, path, {merged: 0})) {
      left -= rows.length
      if (left < 0) return null
      for (const {number, cells} of rows) {
        if (cells.length === 0) continue
        first ??= number
        last = number
      }
    }
    return first === null ? 0 : last - first
  }
  try {
    const counted: CountedSheet[] = []
    for (const {name, state, path} of (await readWorkbook(zip)).sheets) {
      const rows = name === read || left <= 0 ? null : await countIn(path).catch(withoutCount)
      counted.push({name, state, ...(rows !== null && {rows})})
    }
    return counted
  } finally {
    zip.close()
  }
}

const withoutCount = (error: unknown): null => {
  if (error instanceof Refusal) return null
  throw error
}
