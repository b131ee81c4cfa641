import {badPlace} from './decoder.ts'

const mostRows = 20

/**
 * `places`: the number of places with bytes that are invalid in the file's encoding. `rows`: the number of rows with such places. `firstRows`: the
 * numbers of the first 20 such rows. `header`: whether the header has such places.
 */
export type BadBytesFound = {places: number; rows: number; firstRows: number[]; header: boolean}

export type BadBytes = {
  addPlaces(places: number): void
  /** Returns the cells of a row with U+FFFD for each bad place, and records the row. Row 0 is the header. */
  restore(cells: string[], row: number): string[]
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
