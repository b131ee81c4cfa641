/** Writes records as CSV (RFC 4180): cells are quoted if they need it. */
export const writeCsv = (records: Iterable<string[]>): string => {
  let text = ''
  for (const record of records) text += `${record.map(writeCell).join(',')}\r\n`
  return text
}

const writeCell = (cell: string) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)
