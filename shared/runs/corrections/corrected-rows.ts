import {isDeepStrictEqual} from 'node:util'
import {Refusal} from '../../errors.ts'
import type {ColumnReading} from '../../files/choices.ts'
import {Reader} from '../../files/reader.ts'
import {describeMisfit, type FileRow} from '../../files/row.ts'
import {type FileDeps, openFile} from '../../files/stored-file.ts'
import {openBadBytes} from '../../files/text/bad-bytes.ts'
import {plain, shortenDecimal} from '../../files/xlsx/cell.ts'
import {findOrigin, isFailedFile, rangeWithoutReasons, reasonColumns} from '../results/reason-columns.ts'

export type CorrectedFile = {fileKey: string; reader: unknown}

/**
 * `keys`: the columns that identify rows if the corrected file has no row numbers, and more or fewer rows than the run's file. `rows`: the number of
 * rows of the run's file. `readings`: how the run read the columns. `keepsQuotes`: whether a person accepted open quotes in the run's file.
 */
type RunFile = {
  id: string
  columns: string[]
  keys: string[]
  rows: number
  readings: Record<string, ColumnReading>
  keepsQuotes: boolean
}

export const unfit = (row: number, message: string) => new Refusal('CORRECTION_UNFIT', message, {row})

/**
 * Reads a corrected file into memory. Rows are matched by the row numbers of failed.csv, else by order if both files have equally many
 * rows, else by the key columns. `take` returns the corrected cells for a row of the run's file, in the order of `columns`; null if the
 * corrected file lacks the row, or has the same row as a ragged one. Columns that the corrected file lacks keep their cells. `assertValue` throws if
 * the cell of a column has no value: a spreadsheet error, or a formula without a saved value.
 */
export const openCorrectedRows = async (deps: FileDeps, corrected: CorrectedFile, runFile: RunFile) => {
  const {id, columns, keys, rows: total} = runFile
  const file = await openCorrected(deps, corrected, runFile)
  const read = (await Array.fromAsync(file.rows)).flat()
  const isNumbered = isFailedFile(file.columns)
  const origin = findOrigin(file.columns[0])
  if (origin && origin.source !== id)
    throw unfit(0, `The corrected file has rows of another file (${origin.source}). Download failed.csv of this run, and correct that`)
  const own = isNumbered ? file.columns.slice(reasonColumns.length) : file.columns
  assertColumns(own, columns)
  const matchedBy = isNumbered ? 'row' : read.length === total ? 'order' : 'key'
  if (matchedBy === 'key') assertKeys(own, keys)
  const places = columns.map(name => file.columns.indexOf(name))
  const nameOf = {
    row: ({cells}: FileRow) => cells[0]!.trim(),
    order: ({rowNumber}: FileRow) => String(rowNumber),
    key: ({cells}: FileRow) => keyOf(keys.map(name => cells[file.columns.indexOf(name)])),
  }[matchedBy]
  const named = byName(read, nameOf)
  const nameInRun = (row: FileRow) =>
    matchedBy === 'key' ? keyOf(keys.map(name => row.cells[columns.indexOf(name)])) : String(row.rowNumber)
  const taken = new Set<string>()
  return {
    matchedBy: matchedBy as 'row' | 'order' | 'key',
    hasColumn: (name: string) => own.includes(name),
    take(row: FileRow): TakenRow | null {
      const name = nameInRun(row)
      const found = named.get(name)
      if (!found) return null
      if (taken.has(name)) throw unfit(found.rowNumber, `Row ${found.rowNumber} fits several rows of the run. Correct failed.csv instead`)
      taken.add(name)
      if (found.ragged) {
        const cells = isNumbered ? found.cells.slice(reasonColumns.length) : found.cells
        if (isDeepStrictEqual(cells, row.cells)) return null
        throw unfit(found.rowNumber, `Row ${found.rowNumber} of the corrected file ${describeMisfit(found)}`)
      }
      const cells = columns.map((_, at) => (places[at]! < 0 ? row.cells[at]! : cellAt(found, places[at]!, row.cells[at]!)))
      return {cells, assertValue: at => assertValue(found, places[at]!, file)}
    },
    assertAllTaken() {
      for (const [name, {rowNumber}] of named)
        if (!taken.has(name))
          throw unfit(rowNumber, `Row ${rowNumber} of the corrected file fits no row of the run. Keep the column "lading: row"`)
    },
  }
}

/**
 * Returns the corrected cell. A changed number becomes text with the decimal comma of its column, because an edit is text. A long decimal is
 * unchanged if the run read the same digits, as runs of older builds do.
 */
const cellAt = ({cells, stored, numeric}: FileRow, at: number, before: string) => {
  const cell = cells[at] ?? ''
  const digits = stored?.[at] && plain(stored[at])
  if (digits && digits === before && shortenDecimal(digits) === cell) return before
  return numeric?.[at] && cell !== before ? cell.replace('.', ',') : cell
}

export type TakenRow = {cells: string[]; assertValue: (at: number) => void}

const assertValue = ({rowNumber, cells, faults}: FileRow, at: number, {columns, workbook}: Awaited<ReturnType<typeof openFile>>) => {
  const isUncalculated = (cells[at] ?? '') === '' && workbook?.stored[at]?.uncalculated
  const fault = isUncalculated
    ? 'The column has formulas without a saved value. Let a spreadsheet program calculate and save them'
    : faults?.[at]
  if (fault !== undefined) throw unfit(rowNumber, `Row ${rowNumber} of the corrected file, column "${columns[at]}": ${fault}`)
}

/**
 * Opens the corrected file. Reads the numbers of a workbook as the run read its file. If a failed.csv was saved as a workbook, reads the displayed
 * numbers instead, because failed.csv shows what the run read.
 */
const openCorrected = async (deps: FileDeps, {fileKey, reader}: CorrectedFile, {readings, keepsQuotes}: RunFile) => {
  const stored = {fileKey, reader: withReasons(Reader.parse(reader), keepsQuotes), readings}
  const file = await openFile(deps, stored, {bad: openBadBytes()})
  if (!file.workbook || !isFailedFile(file.columns)) return file
  await file.rows.return()
  const numbersOf = (name: string) => ({numbers: 'displayed' as const, decimalMark: readings[name]?.decimalMark})
  return openFile(deps, stored, {numbersOf, bad: openBadBytes()})
}

/**
 * Keeps the reason columns of a failed.csv, because they contain the row numbers. Refuses open quotes there, because failed.csv doubles quotes. Any
 * other CSV file may have open quotes if a person accepted them in the run's file.
 */
const withReasons = (reader: Reader, keepsQuotes: boolean): Reader => {
  if (reader.format === 'csv')
    return reader.reasons ? {...reader, openQuotes: 'refuse', reasons: 'keep'} : {...reader, openQuotes: keepsQuotes ? 'keep' : 'refuse'}
  return reader.range === rangeWithoutReasons ? {...reader, range: null} : reader
}

const byName = (rows: FileRow[], nameOf: (row: FileRow) => string) => {
  const named = new Map<string, FileRow>()
  for (const row of rows) {
    const name = nameOf(row)
    if (named.has(name)) throw unfit(row.rowNumber, `Row ${row.rowNumber} of the corrected file is there twice. Remove one of both rows`)
    named.set(name, row)
  }
  return named
}

const keyOf = (cells: (string | undefined)[]) => JSON.stringify(cells.map(cell => cell && shortenDecimal(cell.trim().toLowerCase())))

const assertColumns = (own: string[], columns: string[]) => {
  const unknown = own.find(name => !columns.includes(name))
  if (unknown !== undefined) throw unfit(0, `The file of the run has no column "${unknown}". Remove the column, or restore its name`)
}

const assertKeys = (own: string[], keys: string[]) => {
  if (keys.length === 0 || !keys.every(name => own.includes(name)))
    throw unfit(
      0,
      'The corrected file has no row numbers, and another number of rows. Download failed.csv, correct it, and upload that file',
    )
}
