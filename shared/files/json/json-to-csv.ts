import {Refusal} from '../../errors.ts'
import type {Storage} from '../../storage/storage.ts'
import {lookOf, looks} from '../cell-kind.ts'
import type {CsvOptions} from '../reader.ts'
import {maxFilledCells, maxRowCells} from '../row.ts'
import {flattenRecord} from './flatten.ts'
import {readJsonRecords} from './json-records.ts'

/** The reader options of a CSV file that was made from a JSON file or a database query. */
export const convertedReader: CsvOptions = {
  encoding: 'utf-8',
  delimiter: ',',
  quote: '"',
  headerRow: true,
  skipRows: 0,
  comment: null,
  apostrophes: 'keep',
}

/**
 * Replaces a stored JSON file by an equivalent CSV file, so that later reads need no JSON. The file is read twice: for its columns, then for its
 * rows. Columns keep the order in which the records first name them. Memory grows with the number of columns, not of records.
 */
export const convertJson = async (storage: Storage, key: string): Promise<void> => {
  const columns = await listColumns(storage, key)
  await storage.put(key, writeCsv(storage, key, columns))
}

/** `commas`: the columns in which a string proves a decimal comma. */
type Columns = {names: string[]; commas: ReadonlySet<string>}

const listColumns = async (storage: Storage, key: string): Promise<Columns> => {
  const [columns, commas] = [new Set<string>(), new Set<string>()]
  let records = 0
  for await (const record of readJsonRecords(await storage.read(key))) {
    for (const [name, cell] of flattenRecord(record)) {
      columns.add(name)
      if (/[.,]/.test(cell) && looks[lookOf(cell)]!.mark === 'comma') commas.add(name)
    }
    records++
    if (columns.size > maxRowCells)
      throw new Refusal('UNREADABLE', `The JSON file has more than ${maxRowCells.toLocaleString('en')} columns. Send fewer keys`)
    if (columns.size * records > maxFilledCells)
      throw new Refusal(
        'UNREADABLE',
        `The JSON file has more than ${maxFilledCells.toLocaleString('en')} cells. Split it and send the parts`,
      )
  }
  if (columns.size === 0) throw new Refusal('FILE_NO_ROWS', 'The JSON file has no record with a value. Send a file with records')
  return {names: [...columns], commas}
}

/** The minimum characters of a piece of the CSV file, except the last piece. */
const piece = 64 * 1024

async function* writeCsv(storage: Storage, key: string, {names, commas}: Columns): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder()
  let text = rowOf(names)
  for await (const record of readJsonRecords(await storage.read(key))) {
    const cells = flattenRecord(record, commas)
    text += rowOf(names.map(name => cells.get(name) ?? ''))
    if (text.length < piece) continue
    yield encoder.encode(text)
    text = ''
  }
  yield encoder.encode(text)
}

const rowOf = (cells: string[]) => `${cells.map(cellOf).join(',')}\n`
/** Quotes every cell, so that a record of one empty value is a row and not a blank line. */
const cellOf = (cell: string) => `"${cell.replaceAll('"', '""')}"`
