import {type DateOrder, type Kind, lookOf, looks} from './cell-kind.ts'
import {openColumnMemory} from './column-memory.ts'
import type {Row} from './row.ts'

type Found = {count: number; firstRow: number}
type Ragged = {count: number; firstRow: number | null}

export type ColumnEvidence = {
  name: string
  /** Cells by what they look like; kinds that do not occur are left out, blank cells are `empties`. `0` and `1` are integers. */
  kinds: Partial<Record<Kind, number>>
  empties: number
  /**
   * Exact up to 1,000 (fewer in a file of more than 200 columns); `more` says that there are more than that, `about` then how many, mostly
   * within 5 % of the truth. Blanks are no value.
   */
  distinct: {count: number; more: boolean; about?: number}
  /** Characters of the longest cell. */
  longest: number
  /** Dates that can be read in one order only, by order, and those that can be read in several. Ambiguous ones and no proof: a person must choose. */
  dates: Record<DateOrder | 'ambiguous', number>
  /** Numbers whose decimal mark is certain, by mark, and those such as `1,234` that can be read in two ways. */
  marks: Record<'point' | 'comma' | 'ambiguous', number>
  /** What reading as a number would lose: `007`, and integers beyond 2^53. */
  leadingZeros: Found | null
  beyond53: Found | null
  /** U+FFFD: text was lost before the file came here. */
  replaced: Found | null
  /** The first values that differ, cut at 200 characters. */
  samples: string[]
}

export type Evidence = {columns: ColumnEvidence[]; rows: number; ragged: Ragged; struck: Ragged}

// Over all columns together, so that a file of thousands of columns is bounded too.
const distinctBudget = 200_000
const [fewestDistinct, mostDistinct] = [10, 1000]

/**
 * Gathers in one pass what each column holds; memory does not grow with the rows. Ragged and struck rows are counted, but their cells, perhaps
 * shifted or not to be written, are not looked at.
 */
export const openEvidence = (names: string[]) => {
  const limit = Math.min(mostDistinct, Math.max(fewestDistinct, Math.floor(distinctBudget / Math.max(1, names.length))))
  const columns = names.map(name => openColumn(name, limit))
  const [ragged, struck]: [Ragged, Ragged] = [
    {count: 0, firstRow: null},
    {count: 0, firstRow: null},
  ]
  let rows = 0
  const add = (chunk: Row[]) => {
    rows += chunk.length
    const whole = chunk.filter(row => !row.ragged && row.struck === undefined)
    if (whole.length < chunk.length) {
      tell(struck, chunk, row => row.struck !== undefined)
      tell(ragged, chunk, row => row.ragged && row.struck === undefined)
    }
    for (const [index, column] of columns.entries()) column.add(whole, index)
  }
  const end = (): Evidence => ({columns: columns.map(column => column.end()), rows, ragged, struck})
  return {add, end}
}

const tell = (found: Ragged, rows: Row[], is: (row: Row) => boolean) => {
  const matching = rows.filter(is)
  found.count += matching.length
  found.firstRow ??= matching[0]?.rowNumber ?? null
}

const openColumn = (name: string, limit: number) => {
  const memory = openColumnMemory(limit)
  const counts = new Uint32Array(looks.length)
  const found: {leadingZeros: Found | null; beyond53: Found | null; replaced: Found | null} = {
    leadingZeros: null,
    beyond53: null,
    replaced: null,
  }
  let [empties, longest] = [0, 0]
  /** A look is taken once per value while the memory holds it. */
  const add = (rows: Row[], index: number) => {
    for (const {cells, rowNumber} of rows) {
      const cell = cells[index]!
      if (cell.length > longest) longest = cell.length
      if (cell === '' || cell.trim() === '') {
        empties++
        continue
      }
      const look = memory.recall(cell) ?? memory.keep(cell, lookOf(cell))
      counts[look]!++
      if (looks[look]!.leadingZeros) found.leadingZeros = again(found.leadingZeros, rowNumber)
      if (looks[look]!.beyond53) found.beyond53 = again(found.beyond53, rowNumber)
      if (cell.includes('\ufffd')) found.replaced = again(found.replaced, rowNumber)
    }
  }
  const end = (): ColumnEvidence => ({name, empties, longest, ...memory.findings(), ...found, ...tally(counts)})
  return {add, end}
}

const again = (found: Found | null, rowNumber: number): Found => ({count: (found?.count ?? 0) + 1, firstRow: found?.firstRow ?? rowNumber})

const tally = (counts: Uint32Array) => {
  const kinds: ColumnEvidence['kinds'] = {}
  const dates = {dmy: 0, mdy: 0, ymd: 0, ambiguous: 0}
  const marks = {point: 0, comma: 0, ambiguous: 0}
  for (const [index, count] of counts.entries()) {
    if (!count) continue
    const {kind, order, mark} = looks[index]!
    kinds[kind] = (kinds[kind] ?? 0) + count
    if (order) dates[order] += count
    if (mark) marks[mark] += count
  }
  return {kinds, dates, marks}
}
