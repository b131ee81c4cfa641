import type {Source} from '../../sql/sources.ts'
import {Refusal} from '../errors.ts'
import {openBadBytes} from '../imports/bad-bytes.ts'
import {Choices, readingsOf} from '../imports/choices.ts'
import type {Row} from '../imports/row.ts'
import {type FilePlace, openFile} from '../imports/stored-file.ts'
import {StorageMissing} from '../storage-missing.ts'
import {evidenceOf} from './evidence.ts'
import {fileGone} from './read.ts'

/** A file is read from its first row on: about 4 s to row 1,000,000 of a CSV file, 12 s of a workbook. */
const longestMs = 30_000
/** One answer's cells together; a row more than fits begins the next. */
const mostCharacters = 4 * 1024 ** 2

type Page = {from: number; limit: number}
type Previewed = Pick<Source, 'fileKey' | 'reader' | 'cleaning' | 'choices' | 'evidence'>

/** Rows as they are read and cleaned, each with what the file holds beside it, as JSON in UTF-8. */
export const previewRows = async (place: FilePlace, {source, page}: {source: Previewed; page: Page}): Promise<Uint8Array<ArrayBuffer>> => {
  try {
    return new TextEncoder().encode(JSON.stringify(await read(place, source, page)))
  } catch (error) {
    throw error instanceof StorageMissing ? fileGone() : error
  }
}

const read = async (place: FilePlace, source: Previewed, page: Page) => {
  const until = Date.now() + longestMs
  const readings = readingsOf(evidenceOf(source).columns, Choices.parse(source.choices))
  const {columns, fileColumns, rows} = await openFile(place, {...source, readings}, {bad: openBadBytes()})
  const taken: Row[] = []
  let [characters, next] = [0, null as number | null]
  reading: for await (const chunk of rows) {
    if (Date.now() > until) throw tooFar(chunk.at(-1)?.rowNumber ?? 0)
    for (const row of chunk) {
      if (row.rowNumber < page.from) continue
      characters += sizeOf(row)
      if (taken.length === page.limit || (taken.length && characters > mostCharacters)) {
        next = row.rowNumber
        break reading
      }
      taken.push(row)
    }
  }
  return {columns, fileColumns, rows: taken.map(shape), nextFrom: next}
}

const sizeOf = ({cells, read = cells, stored = read}: Row) => [...cells, ...stored].reduce((sum, {length}) => sum + length, 0)

/** `raw` is what the file holds, column by column of the file; `values` are of the source's columns, those that cleaning made at their end. */
const shape = ({rowNumber, cells, read = cells, stored = read, ragged, struck}: Row) => ({
  rowNumber,
  values: cells,
  raw: stored,
  ragged,
  struck: struck ?? null,
})

const tooFar = (row: number) =>
  new Refusal('BUSY', `Reading came to row ${row} in ${longestMs / 1000} s. Ask for rows before that, or again when less is going on`, {
    retryAfterMs: 10_000,
  })
