import type {Config} from '../config.ts'
import {Refusal} from '../errors.ts'
import type {Storage} from '../storage/storage.ts'
import type {ColumnReading} from './choices.ts'
import {cleaned} from './cleaning/clean.ts'
import {Cleaning} from './cleaning/cleaning.ts'
import {openCsv} from './csv/csv-file.ts'
import {Reader} from './reader.ts'
import type {Table} from './row.ts'
import type {BadBytes} from './text/bad-bytes.ts'
import {type NumbersOf, openXlsx, type WorkbookLimits, type XlsxFile} from './xlsx/xlsx-file.ts'

export type FileDeps = {storage: Storage; config: Pick<Config, 'FILE_LIMIT_BYTES' | 'WORKBOOK_LIMIT_BYTES' | 'WORKBOOK_STRINGS_BYTES'>}

/** A source, or its copy in a run's snapshot. */
export type StoredFile = {fileKey: string; reader: unknown; cleaning?: unknown; readings?: Record<string, ColumnReading> | undefined}

/** `columns` includes the columns that cleaning added; `fileColumns` does not. `workbook` is null for CSV. */
type OpenFile = Table & {fileColumns: string[]; workbook: XlsxFile | null}

/** `bad` records bytes that are invalid in the encoding. Without `bad`, such bytes are refused unless the reader accepts them. */
type OpenOptions = {numbersOf?: NumbersOf; bad?: BadBytes}

/**
 * Opens a stored file and cleans its rows. Read `rows` to the end or close it. Without `numbersOf`, `readings` defines how numbers of a workbook are
 * read. Imports of older builds have no readings, so numbers of a column without a reading are read as stored.
 */
export const openFile = async (
  deps: FileDeps,
  {fileKey, reader, cleaning = [], readings = {}}: StoredFile,
  {numbersOf = column => ({numbers: 'stored', ...readings[column]}), bad}: OpenOptions = {},
): Promise<OpenFile> => {
  const steps = readCleaning(cleaning)
  const {table, workbook} = await openTable(deps, {key: fileKey, reader: Reader.parse(reader), numbersOf, bad})
  try {
    const fileCharacters = workbook ? deps.config.WORKBOOK_LIMIT_BYTES : deps.config.FILE_LIMIT_BYTES
    const {columns: fileColumns, proposeHeader, openQuotes} = table
    return {...cleaned(table, steps, {fileCharacters}), proposeHeader, openQuotes, fileColumns, workbook}
  } catch (error) {
    await table.rows.return()
    throw error
  }
}

/** Throws UNREADABLE for a step that an older build stored and this build no longer supports. */
const readCleaning = (cleaning: unknown): Cleaning => {
  const read = Cleaning.safeParse(cleaning)
  if (read.success) return read.data
  throw new Refusal('UNREADABLE', `A cleaning step of the file is no longer valid: ${read.error.issues[0]!.message}. Change that step`)
}

type OpenedTable = {table: Table; workbook: XlsxFile | null}
type OpenInput = {key: string; reader: Reader; numbersOf: NumbersOf; bad: BadBytes | undefined}

const openTable = async ({storage, config}: FileDeps, {key, reader, numbersOf, bad}: OpenInput): Promise<OpenedTable> => {
  if (reader.format === 'csv') return {table: await openCsv(await storage.read(key), reader, bad), workbook: null}
  const workbook = await openXlsx({storage, key}, {...reader, numbersOf}, limitsOf(config))
  return {table: workbook, workbook}
}

export const limitsOf = (config: Omit<FileDeps['config'], 'FILE_LIMIT_BYTES'>): WorkbookLimits => ({
  unpacked: config.WORKBOOK_LIMIT_BYTES,
  strings: config.WORKBOOK_STRINGS_BYTES,
})
