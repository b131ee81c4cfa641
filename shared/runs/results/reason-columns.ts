/** The run and the file of it whose failed rows a failed.csv has. */
export type FailedRowsOrigin = {run: string; source: string}

/** The columns that failed.csv puts before the file's own: the row's number in the file of the run, and why it failed. */
export const reasonColumns = ['lading: row', 'lading: error'] as const

/** Returns these columns with the run and the file in the first, so that corrected rows are matched to the rows of their run. */
export const nameReasonColumns = (origin: FailedRowsOrigin | undefined): string[] =>
  origin ? [`${reasonColumns[0]} of ${origin.run} ${origin.source}`, reasonColumns[1]] : [...reasonColumns]

const rowColumn = /^lading: row(?: of (run_\w+) (src_\w+))?$/

/** Whether the text, whose header is below `skipRows` lines, begins with the columns of failed.csv. Spreadsheets may quote them. */
export const hasReasonColumns = (text: string, {delimiter, skipRows}: {delimiter: string; skipRows: number}): boolean => {
  const cells = headerIn(text, skipRows).split(delimiter)
  return cells.length > reasonColumns.length && isFailedFile(cells)
}

/** Returns the run and the file that the header of a failed.csv names. */
export const findOriginIn = (text: string, skipRows: number): FailedRowsOrigin | undefined =>
  findOrigin(/^lading: row of run_\w+ src_\w+/.exec(headerIn(text, skipRows))?.[0])

const headerIn = (text: string, skipRows: number) =>
  (text.replace(/^\ufeff/, '').split(/\r\n|\r|\n/, skipRows + 1)[skipRows] ?? '').replaceAll('"', '')

/** Whether these are the columns of failed.csv, for example saved as a workbook. */
export const isFailedFile = ([row = '', error]: readonly string[]): boolean => rowColumn.test(row) && error === reasonColumns[1]

/** Returns the run and the file that the name of the first column states. Files of earlier builds state none. */
export const findOrigin = (column = ''): FailedRowsOrigin | undefined => {
  const [, run, source] = rowColumn.exec(column) ?? []
  return run && source ? {run, source} : undefined
}

/** The range of a workbook without the columns of reasons. */
export const rangeWithoutReasons = 'C1'
