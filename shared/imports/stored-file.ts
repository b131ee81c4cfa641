import type {Config} from '../config.ts'
import {Refusal} from '../errors.ts'
import type {Storage} from '../storage.ts'
import {cleaned} from './clean.ts'
import {Cleaning} from './cleaning.ts'
import {openCsv} from './csv-file.ts'
import {Reader} from './reader.ts'
import type {Table} from './row.ts'
import {openXlsx, type WorkbookLimits, type XlsxFile} from './xlsx/xlsx-file.ts'

export type FilePlace = {storage: Storage; config: Pick<Config, 'WORKBOOK_LIMIT_BYTES' | 'WORKBOOK_STRINGS_BYTES'>}

/** A source, or what a run's snapshot keeps of it. */
type StoredFile = {fileKey: string; reader: unknown; cleaning?: unknown}

/** `columns` with those that cleaning made, `fileColumns` as the file has them. `workbook`: where the file is one. */
type OpenFile = Table & {fileColumns: string[]; workbook: XlsxFile | null}

/** The one way to a stored file's rows, whatever its format: read by its reader, then cleaned. `rows` must be run through or closed. */
export const openFile = async (place: FilePlace, {fileKey, reader, cleaning = []}: StoredFile): Promise<OpenFile> => {
  const steps = readCleaning(cleaning)
  const {table, workbook} = await openTable(place, fileKey, Reader.parse(reader))
  try {
    return {...cleaned(table, steps), fileColumns: table.columns, workbook}
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

const openTable = async ({storage, config}: FilePlace, key: string, reader: Reader): Promise<{table: Table; workbook: XlsxFile | null}> => {
  if (reader.format === 'csv') return {table: await openCsv(await storage.read(key), reader), workbook: null}
  const workbook = await openXlsx({storage, key}, reader, limitsOf(config))
  return {table: workbook, workbook}
}

export const limitsOf = (config: FilePlace['config']): WorkbookLimits => ({
  unpacked: config.WORKBOOK_LIMIT_BYTES,
  strings: config.WORKBOOK_STRINGS_BYTES,
})
