import {openCsv} from '../../../shared/files/csv/csv-file.ts'
import {type CsvOptions, type CsvReader, Reader} from '../../../shared/files/reader.ts'
import type {FileRow} from '../../../shared/files/row.ts'

export async function* inPieces(content: string | Uint8Array, size = 65_536): AsyncGenerator<Uint8Array, void, undefined> {
  const bytes = Buffer.from(content)
  for (let from = 0; from < bytes.length; from += size) yield bytes.subarray(from, from + size)
}

export const csvReader = (options: CsvOptions = {}) => Reader.parse({...options, format: 'csv'}) as CsvReader

export const readAll = async (bytes: AsyncIterable<Uint8Array>, options: CsvOptions = {}) => {
  const file = await openCsv(bytes, csvReader(options))
  const rows: FileRow[] = []
  for await (const chunk of file.rows) rows.push(...chunk)
  return {columns: file.columns, rows, cells: rows.map(row => row.cells)}
}

export const collect = async (chunks: AsyncIterable<Uint8Array>) => {
  const parts: Uint8Array[] = []
  for await (const chunk of chunks) parts.push(chunk)
  return Buffer.concat(parts)
}
