import type {Config} from '../config.ts'
import {Refusal} from '../errors.ts'
import type {Storage} from '../storage.ts'
import type {BadBytes} from './bad-bytes.ts'
import type {Reading} from './choices.ts'
import {cleaned} from './clean.ts'
import {Cleaning} from './cleaning.ts'
import {openCsv} from './csv-file.ts'
import {Reader} from './reader.ts'
import type {Table} from './row.ts'
import {type NumbersOf, openXlsx, type WorkbookLimits, type XlsxFile} from './xlsx/xlsx-file.ts'

export type FilePlace = {storage: Storage; config: Pick<Config, 'FILE_LIMIT_BYTES' | 'WORKBOOK_LIMIT_BYTES' | 'WORKBOOK_STRINGS_BYTES'>}

/** A source, or what a run's snapshot keeps of it. */
type StoredFile = {fileKey: string; reader: unknown; cleaning?: unknown; readings?: Record<string, Reading> | undefined}

/** `columns` with those that cleaning made, `fileColumns` as the file has them. `workbook`: where the file is one. */
type OpenFile = Table & {fileColumns: string[]; workbook: XlsxFile | null}

/**
/** `bad`: where bytes that are not in the encoding are noted; without it they are refused unless the reader accepts them. */
type OpenOptions = {numbersOf?: NumbersOf; bad?: BadBytes}

/**
 * The one way to a stored file's rows, whatever its format: read by its reader, then cleaned. `rows` must be run through or closed. Numbers of
 * a workbook are read as its readings say, and as stored where they say nothing: so are files that an earlier build began to import.
 */
export const openFile = async (
  place: FilePlace,
  {fileKey, reader, cleaning = [], readings = {}}: StoredFile,
  {numbersOf = column => ({numbers: 'stored', ...readings[column]}), bad}: OpenOptions = {},
): Promise<OpenFile> => {
  const steps = readCleaning(cleaning)
  const {table, workbook} = await openTable(place, {key: fileKey, reader: Reader.parse(reader), numbersOf, bad})
  try {
    const fileCharacters = workbook ? place.config.WORKBOOK_LIMIT_BYTES : place.config.FILE_LIMIT_BYTES
    return {...cleaned(table, steps, {fileCharacters}), proposeHeader: table.proposeHeader, fileColumns: table.columns, workbook}
  } catch (error) {
    await table.rows.return()
    throw error
  }
}

/** Steps taken by a build before may be none that this one takes. */
const readCleaning = (cleaning: unknown): Cleaning => {
  const read = Cleaning.safeParse(cleaning)
  if (read.success) return read.data
  throw new Refusal('UNREADABLE', `The file's cleaning is not taken any more: ${read.error.issues[0]!.message}. Change that step`)
}

type Opened = {table: Table; workbook: XlsxFile | null}
type OpenInput = {key: string; reader: Reader; numbersOf: NumbersOf; bad: BadBytes | undefined}

const openTable = async ({storage, config}: FilePlace, {key, reader, numbersOf, bad}: OpenInput): Promise<Opened> => {
  if (reader.format === 'csv') return {table: await openCsv(await storage.read(key), reader, bad), workbook: null}
  const workbook = await openXlsx({storage, key}, {...reader, numbersOf}, limitsOf(config))
  return {table: workbook, workbook}
}

export const limitsOf = (config: Omit<FilePlace['config'], 'FILE_LIMIT_BYTES'>): WorkbookLimits => ({
  unpacked: config.WORKBOOK_LIMIT_BYTES,
  strings: config.WORKBOOK_STRINGS_BYTES,
})
