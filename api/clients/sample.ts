export type Sample = {columns: string[]; rows: string[][]}
export type FileRow = {values: string[]; struck: string | null; ragged: boolean}

/** Limits of the API for a sample. */
const mostRows = 20
const longestCell = 1000
const mostColumns = 500
const longestName = 500
const mostCharacters = 500_000

/**
 * Builds a sample within the limits. Leaves out excluded rows and rows with too few or too many cells. Cuts long cells. Columns whose name is
 * too long, and columns beyond `mostColumns`, are omitted, so they get no suggestions.
 */
export const sampleOf = (columns: readonly string[], rows: readonly FileRow[]): Sample => {
  const sent = [...columns.keys()].filter(at => columns[at]!.length <= longestName).slice(0, mostColumns)
  const whole = rows.filter(({struck, ragged}) => struck === null && !ragged).slice(0, mostRows)
  const cells = whole.map(({values}) => sent.map(at => (values[at] ?? '').slice(0, longestCell)))
  let characters = 0
  const fitting = cells.filter(row => (characters += row.reduce((sum, cell) => sum + cell.length, 0)) <= mostCharacters)
  return {columns: sent.map(at => columns[at]!), rows: fitting}
}
