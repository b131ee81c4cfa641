import {mkdtemp, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import type {ExecutionContext} from 'ava'
import {type Code, Refusal} from '../../../shared/errors.ts'
import type {FileRow} from '../../../shared/files/row.ts'
import {openXlsx, type WorkbookLimits, type XlsxFile} from '../../../shared/files/xlsx/xlsx-file.ts'
import {openStorage} from '../../../shared/storage/storage.ts'
import {type SheetOf, writeWorkbook} from '../../support/workbook.ts'
import {inPieces} from './chunks.ts'

type Options = Partial<Parameters<typeof openXlsx>[1]> & {limits?: Partial<WorkbookLimits>}
type ReadWorkbook = XlsxFile & {all: FileRow[]; cells: string[][]}

export const usual = {unpacked: 100_000_000, strings: 10_000_000}

export const stored = async (t: ExecutionContext, workbook: Uint8Array) => {
  const directory = await mkdtemp(join(tmpdir(), 'lading-xlsx-'))
  t.teardown(() => rm(directory, {recursive: true, force: true}))
  const storage = openStorage({directory})
  await storage.put('org/imp/src', inPieces(workbook))
  return {storage, key: 'org/imp/src'}
}

export const read = async (t: ExecutionContext, workbook: Uint8Array, {limits, ...reader}: Options = {}): Promise<ReadWorkbook> => {
  const file = await openXlsx(await stored(t, workbook), {headerRow: true, range: null, ...reader}, {...usual, ...limits})
  const all: FileRow[] = []
  for await (const chunk of file.rows) all.push(...chunk)
  return Object.assign(file, {all, cells: all.map(({cells}) => cells)})
}

export const readRows = async (
  t: ExecutionContext,
  rows: SheetOf['rows'],
  more: Omit<Parameters<typeof writeWorkbook>[0], 'sheets'> = {},
  options: Options = {},
) => read(t, await writeWorkbook({sheets: [{name: 'One', rows: rows!}], ...more}), options)

export const refused = async (t: ExecutionContext, workbook: Uint8Array, code: Code, options: Options = {}) => {
  const error = await t.throwsAsync(read(t, workbook, options), {instanceOf: Refusal})
  t.is(error?.code, code, error?.message)
  return error!
}
