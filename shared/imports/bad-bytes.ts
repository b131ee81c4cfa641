import {badPlace} from './decoder.ts'

const mostRows = 20

/**
 * Bytes of a file that are not in its encoding: `places` counts them, `rows` the rows they are in, of which `firstRows` names the first.
 * `header`: some are in the header.
 */
export type BadBytesFound = {places: number; rows: number; firstRows: number[]; header: boolean}

/** Notes the bytes that cannot be decoded while a file is read. */
export type BadBytes = {
  addPlaces(places: number): void
  /** The cells of a row, 0 being the header, with U+FFFD for each place. */
  restore(cells: string[], row: number): string[]
  /** Null where there were none. */
  found(): BadBytesFound | null
}

export const openBadBytes = (): BadBytes => {
  const found: BadBytesFound = {places: 0, rows: 0, firstRows: [], header: false}
  return {
    addPlaces(places) {
      found.places += places
    },
    restore(cells, row) {
      if (found.places === 0 || !cells.some(cell => cell.includes(badPlace))) return cells
      if (row === 0) found.header = true
      else {
        found.rows++
        if (found.firstRows.length < mostRows) found.firstRows.push(row)
      }
      return cells.map(cell => cell.replaceAll(badPlace, '\ufffd'))
    },
    found: () => (found.places > 0 ? found : null),
  }
}
