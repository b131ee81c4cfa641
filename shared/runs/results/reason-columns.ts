/** The columns that failed.csv puts before the file's own: the row's number in the file of the run, and why it failed. */
export const reasonColumns = ['lading: row', 'lading: error'] as const

/** Whether the text, whose header is below `skipRows` lines, begins with the columns of failed.csv. Spreadsheets may quote them. */
export const hasReasonColumns = (text: string, {delimiter, skipRows}: {delimiter: string; skipRows: number}): boolean => {
  const header = text.replace(/^\ufeff/, '').split(/\r\n|\r|\n/, skipRows + 1)[skipRows] ?? ''
  return header.replaceAll('"', '').startsWith(`${reasonColumns.join(delimiter)}${delimiter}`)
}

/** Whether these are the columns of failed.csv, for example saved as a workbook. */
export const isFailedFile = (columns: readonly string[]): boolean => reasonColumns.every((name, at) => columns[at] === name)

/** The range of a workbook without the columns of reasons. */
export const rangeWithoutReasons = 'C1'
