/** The run and the source whose failed rows a failed.csv contains. */
export type FailedRowsOrigin = {run: string; source: string}

/** The first columns of failed.csv: the row's number in the source, and why the row failed. */
export const reasonColumns = ['lading: row', 'lading: error'] as const

/** With an origin, the name of the first column states the run and the source, so that corrections find the rows of that run. */
export const nameReasonColumns = (origin: FailedRowsOrigin | undefined): string[] =>
  origin ? [`${reasonColumns[0]} of ${origin.run} ${origin.source}`, reasonColumns[1]] : [...reasonColumns]

const rowColumn = /^lading: row(?: of (run_\w+) (src_\w+))?$/

/**
 * Whether the header of the text begins with the reason columns, which spreadsheets may quote, and has more columns. The header follows
 * `skipRows` lines.
 */
export const hasReasonColumns = (text: string, {delimiter, skipRows}: {delimiter: string; skipRows: number}): boolean => {
  const cells = headerIn(text, skipRows).split(delimiter)
  return cells.length > reasonColumns.length && isFailedFile(cells)
}

/**
 * Returns the run and the source that the header of a failed.csv states. Stated options may skip the header, or not skip its `sep=` line. So the
 * skipped lines and the line below the expected header are searched too.
 */
export const findOriginIn = (text: string, skipRows: number): FailedRowsOrigin | undefined =>
  firstLines(text, skipRows + 2)
    .map(line => findOrigin(/^lading: row of run_\w+ src_\w+/.exec(line)?.[0]))
    .find(origin => origin !== undefined)

const headerIn = (text: string, skipRows: number) => firstLines(text, skipRows + 1)[skipRows] ?? ''

const firstLines = (text: string, count: number) =>
  text
    .replace(/^\ufeff/, '')
    .split(/\r\n|\r|\n/, count)
    .map(line => line.replaceAll('"', ''))

/** Whether the first two columns are the reason columns of a failed.csv. The file may since have been saved as a workbook. */
export const isFailedFile = ([row = '', error]: readonly string[]): boolean => rowColumn.test(row) && error === reasonColumns[1]

/**
 * Parses the run and the source from the name of the first reason column. Returns undefined for any other name. Earlier builds wrote the column
 * name without a run and a source.
 */
export const findOrigin = (column = ''): FailedRowsOrigin | undefined => {
  const [, run, source] = rowColumn.exec(column) ?? []
  return run && source ? {run, source} : undefined
}

export const rangeWithoutReasons = 'C1'
