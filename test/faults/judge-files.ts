import {parse} from 'csv-parse/sync'

/** A line of results.csv. `records`: ids in the column of records. */
export type Line = {result: string; records: string[]; error: string}

export const readResults = (text: string): Line[] => {
  const [header, ...lines] = parse(text, {relax_column_count: true, bom: true}) as string[][]
  const at = header!.indexOf('Result')
  return lines.map(line => ({
    result: line[at]!,
    records: line[at + 1] ? line[at + 1]!.split('; ') : [],
    error: line.at(-1)!,
  }))
}

/** Returns the cells of one column of failed.csv, by row. */
export const readFailed = (text: string, column: string): string[] =>
  (parse(text, {columns: true, bom: true}) as Record<string, string>[]).map(cells => cells[column]!)

/** Matches an error which says that a record may exist, or may exist twice. */
const mayExist = /may exist/
/** Matches an error that names another row of the file, a record that may exist, or an older value that may remain. */
const namesCause = /may (?:exist|remain)|older value|\brow \d+/i

export const saysMayExist = ({result, error}: Line) => result === 'No answer' || mayExist.test(error)
export const saysTwice = ({error}: Line) => /may exist twice/.test(error)
export const saysCause = ({result, error}: Line) => result === 'No answer' || namesCause.test(error)

/** Returns the record ids in a MAYBE_MADE error: records that may belong to the row. */
export const suspectedIn = ({error}: Line): string[] =>
  /MAYBE_MADE/.test(error) ? [...error.matchAll(/\b[Rr]ecord (\d{6,})/g)].map(([, id]) => id!) : []

const RESULT: Record<string, string> = {
  created: 'Written',
  updated: 'Written',
  refused: 'Failed',
  failed: 'Failed',
  unanswered: 'No answer',
  skipped: 'Skipped',
  inherited: 'Written before',
}

/** Compares the final log entry of a row with the row's line of results.csv. Returns the differences. */
export const compareLine = (final: any, line: Line | undefined): string[] => {
  const expected = final ? RESULT[final.outcome] : ''
  const ids = final?.recordId ? [final.recordId] : []
  return [
    ...(line?.result === expected ? [] : [`is ${final?.outcome}, and its line says ${line?.result}`]),
    ...(!line || line.records.join() === ids.join() ? [] : [`is ${ids}, and its line names ${line.records}`]),
  ]
}
