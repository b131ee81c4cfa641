import type {Source} from '../../../sql/sources.ts'
import {Refusal} from '../../errors.ts'
import {StorageMissing} from '../../storage/missing.ts'
import {Choices, readingsOf} from '../choices.ts'
import type {FileRow} from '../row.ts'
import {type FileDeps, openFile} from '../stored-file.ts'
import {openBadBytes} from '../text/bad-bytes.ts'
import {evidenceOf} from './evidence.ts'
import {fileGone} from './read.ts'

/** Every read starts at the first row. Row 1,000,000 is reached after about 4 s in a CSV file and 12 s in a workbook. */
const longestMs = 30_000
/** Maximum characters in the cells of a page. A page has at least one row. The first row that exceeds the limit begins the next page. */
const mostCharacters = 4 * 1024 ** 2

/** `numbers`: if set, only rows with these numbers are returned, and `limit` has no effect. */
type Page = {from: number; limit: number; numbers?: number[] | undefined}
type PreviewedRows = Pick<Source, 'fileKey' | 'reader' | 'cleaning' | 'choices' | 'evidence'>

/** Returns a page of rows, each with its cleaned values and with the raw values of the file. The result is JSON in UTF-8. */
export const previewRows = async (
  deps: FileDeps,
  {source, page}: {source: PreviewedRows; page: Page},
): Promise<Uint8Array<ArrayBuffer>> => {
  try {
    return new TextEncoder().encode(JSON.stringify(await read(deps, source, page)))
  } catch (error) {
    throw error instanceof StorageMissing ? fileGone() : error
  }
}

const read = async (deps: FileDeps, source: PreviewedRows, page: Page) => {
  const until = Date.now() + longestMs
  const readings = readingsOf(evidenceOf(source).columns, Choices.parse(source.choices))
  const {columns, fileColumns, rows} = await openFile(deps, {...source, readings}, {bad: openBadBytes()})
  const wanted = page.numbers && new Set(page.numbers)
  const last = wanted ? Math.max(...wanted) : Number.POSITIVE_INFINITY
  const taken: FileRow[] = []
  let [characters, next] = [0, null as number | null]
  reading: for await (const chunk of rows) {
    if (Date.now() > until) throw tooFar(chunk.at(-1)?.rowNumber ?? 0)
    for (const row of chunk) {
      if (row.rowNumber > last) break reading
      if (row.rowNumber < page.from || (wanted && !wanted.has(row.rowNumber))) continue
      characters += sizeOf(row)
      if ((!wanted && taken.length === page.limit) || (taken.length && characters > mostCharacters)) {
        next = row.rowNumber
        break reading
      }
      taken.push(row)
    }
  }
  return {columns, fileColumns, rows: taken.map(shape), nextFrom: next}
}

const sizeOf = ({cells, read = cells, stored = read}: FileRow) => [...cells, ...stored].reduce((sum, {length}) => sum + length, 0)

/** `raw`: the stored values in the order of the file's columns. `values`: the cleaned values, with columns that cleaning added last. */
const shape = ({rowNumber, cells, read = cells, stored = read, ragged, openQuote, struck}: FileRow) => ({
  rowNumber,
  values: cells,
  raw: stored,
  ragged,
  ...(openQuote && {openQuote}),
  struck: struck ?? null,
})

const tooFar = (row: number) =>
  new Refusal('BUSY', `Reading stopped at row ${row} after ${longestMs / 1000} s. Request earlier rows, or try again later`, {
    retryAfterMs: 10_000,
  })
