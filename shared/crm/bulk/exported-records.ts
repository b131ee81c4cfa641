import {Refusal} from '../../errors.ts'
import {TextFault} from '../../files/text/text.ts'
import {openZip, type StoredObject} from '../../files/xlsx/zip.ts'
import {CrmError} from '../error.ts'
import {unanswered} from '../outcome.ts'
import {readBulkCsv} from './bulk-csv.ts'

const unpackedLimit = 4 * 1024 ** 3

/**
 * Yields the records of a stored bulk file in pieces. Each record has one text for each entry of `columns`, a column name or index. Links and users
 * are ids, times are ISO 8601, and lists are joined by `;`. A name that several columns have means the last of them. Throws a retryable CrmError if
 * the file is unreadable, contains a NUL or lacks a column. Source of the format: the vendor's pages of bulk read.
 */
export async function* readExportedRecords(
  object: StoredObject,
  columns: (string | number)[],
  limit = unpackedLimit,
): AsyncGenerator<string[][], void, undefined> {
  try {
    const zip = await openZip(object, limit)
    try {
      const [path, ...others] = zip.paths.filter(name => name.toLowerCase().endsWith('.csv'))
      if (path === undefined || others.length > 0) throw unreadable('it does not hold exactly one CSV')
      yield* pickColumns(readBulkCsv(zip.open(path)), columns)
    } finally {
      zip.close()
    }
  } catch (error) {
    throw error instanceof Refusal || error instanceof TextFault ? unreadable(error.code) : error
  }
}

async function* pickColumns(pieces: AsyncIterable<string[][]>, columns: (string | number)[]): AsyncGenerator<string[][], void, undefined> {
  let places: number[] | null = null
  let width = 0
  for await (const piece of pieces) {
    const records = places ? piece : piece.slice(1)
    if (!places) {
      width = piece[0]!.length
      places = columns.map(column => (typeof column === 'number' ? column : piece[0]!.lastIndexOf(column)))
      const missing = columns.filter((_, index) => places![index] === -1)
      if (missing.length > 0) throw unreadable(`it has no column ${missing.join(', ')}`)
    }
    const wrong = records.find(cells => cells.length !== width)
    if (wrong) throw unreadable(`a row has ${wrong.length} cells instead of ${width}`)
    if (records.length > 0) yield records.map(cells => places!.map(place => cells[place]!))
  }
  if (!places) throw unreadable('it is empty')
}

const unreadable = (why: string) =>
  new CrmError(unanswered({status: 200}), {message: `The file of a bulk job of the CRM is not readable: ${why}. Try again`})
