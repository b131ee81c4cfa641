const needsQuotes = /[",\r\n]/
export const plainNumber = /^[+-]?\d+([.,]\d+)?$/

/** Writes cells as a line of RFC 4180 without the line end. */
export const lineOf = (cells: string[]) => {
  let line = ''
  for (let index = 0; index < cells.length; index++) line += index ? `,${cellOf(cells[index]!)}` : cellOf(cells[index]!)
  return line
}

/**
 * A spreadsheet would execute a cell that begins with = + - @ as a formula, so an apostrophe is put before the text. Plain numbers get no apostrophe.
 */
const cellOf = (cell: string) => {
  const first = cell.charCodeAt(0)
  const formula = (first === 61 || first === 43 || first === 45 || first === 64) && !plainNumber.test(cell)
  const text = formula ? `'${cell}` : cell
  return needsQuotes.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
