import {type CellKind, type DateOrder, lookOf, looks} from './cell-kind.ts'
import {openColumnMemory} from './column-memory.ts'
import type {FileRow} from './row.ts'

type FoundEvidence = {count: number; firstRow: number}
type RaggedRows = {count: number; firstRow: number | null}

export type ColumnEvidence = {
  name: string
  /** Number of cells by kind. Kinds that do not occur are left out; blank cells are counted in `empties`. `0` and `1` are integers. */
  kinds: Partial<Record<CellKind, number>>
  empties: number
  /**
   * Number of distinct values, without blanks. It is exact up to 1,000, or fewer in a file of more than 200 columns. `more`: there are more
   * values; `about` is then an estimate, mostly within 5 %.
   */
  distinct: {count: number; more: boolean; about?: number}
  longest: number
  /**
   * Number of dates by order. Dates that are valid in one order prove it; dates that are valid in several are `ambiguous`. A user must choose
   * the order if the dates prove several orders, or if they are ambiguous and prove none.
   */
  dates: Record<DateOrder | 'ambiguous', number>
  /** Number of dates in numbers with a year of two digits, which `dates` does not count. Absent if there are none. */
  shortYears?: number
  /** Number of numbers by decimal mark, including `amounts`. Numbers such as `1,234`, which have two readings, are `ambiguous`. */
  marks: Record<'point' | 'comma' | 'ambiguous', number>
  /**
   * Number of texts such as `$900`: numbers with a currency or percent sign or no-break spaces. Absent if there are none, or if less than two thirds
   * of the values are numbers or such texts, because the column may be prose.
   */
  amounts?: number
  /** Values with leading zeros, such as `007`, which a number would lose. */
  leadingZeros: FoundEvidence | null
  /** Integers beyond 2^53, which a number would round. */
  beyond53: FoundEvidence | null
  /** Cells with U+FFFD: characters that were lost before the upload, or bytes that are invalid in the encoding. */
  replaced: FoundEvidence | null
  /** Cells such as `"5\" pipe"`, whose quotes have a backslash instead of being doubled. Absent if there are none. */
  escapedQuotes?: FoundEvidence
  /** The first five distinct values, cut at 200 characters. */
  samples: string[]
}

/** `ragged` does not count rows with an open quote. `openQuotes` is absent if there are none. */
export type Evidence = {columns: ColumnEvidence[]; rows: number; ragged: RaggedRows; openQuotes?: RaggedRows; struck: RaggedRows}

// The maximum number of distinct values kept for all columns together, but at least ten per column. It limits the memory for thousands of columns.
const distinctBudget = 200_000
const [fewestDistinct, mostDistinct] = [10, 1000]

/**
 * Collects facts about each column in one pass with constant memory. Ragged rows, whose cells may be shifted, and rows that cleaning excluded
 * (`struck`) are only counted.
 */
export const openEvidence = (names: string[]) => {
  const limit = Math.min(mostDistinct, Math.max(fewestDistinct, Math.floor(distinctBudget / Math.max(1, names.length))))
  const columns = names.map(name => openColumn(name, limit))
  const [ragged, openQuotes, struck]: [RaggedRows, RaggedRows, RaggedRows] = [
    {count: 0, firstRow: null},
    {count: 0, firstRow: null},
    {count: 0, firstRow: null},
  ]
  let rows = 0
  const add = (chunk: FileRow[]) => {
    rows += chunk.length
    const whole = chunk.filter(row => !row.ragged && row.struck === undefined)
    if (whole.length < chunk.length) {
      describeColumn(struck, chunk, row => row.struck !== undefined)
      describeColumn(ragged, chunk, row => row.ragged && !row.openQuote && row.struck === undefined)
      describeColumn(openQuotes, chunk, row => row.openQuote === true && row.struck === undefined)
    }
    for (const [index, column] of columns.entries()) column.add(whole, index)
  }
  const end = (): Evidence => ({
    columns: columns.map(column => column.end()),
    rows,
    ragged,
    ...(openQuotes.count > 0 && {openQuotes}),
    struck,
  })
  return {add, end}
}

const describeColumn = (found: RaggedRows, rows: FileRow[], is: (row: FileRow) => boolean) => {
  const matching = rows.filter(is)
  found.count += matching.length
  found.firstRow ??= matching[0]?.rowNumber ?? null
}

const openColumn = (name: string, limit: number) => {
  const memory = openColumnMemory(limit)
  const counts = new Uint32Array(looks.length)
  const found: {leadingZeros: FoundEvidence | null; beyond53: FoundEvidence | null; replaced: FoundEvidence | null} = {
    leadingZeros: null,
    beyond53: null,
    replaced: null,
  }
  let [empties, longest] = [0, 0]
  let escapedQuotes: FoundEvidence | null = null
  /** The memory caches the look of each value. */
  const add = (rows: FileRow[], index: number) => {
    for (const {cells, rowNumber} of rows) {
      const cell = cells[index]!
      if (cell.length > longest) longest = cell.length
      if (cell === '' || cell.trim() === '') {
        empties++
        continue
      }
      const look = memory.recall(cell) ?? memory.keep(cell, lookOf(cell))
      counts[look]!++
      if (looks[look]!.leadingZeros) found.leadingZeros = restart(found.leadingZeros, rowNumber)
      if (looks[look]!.beyond53) found.beyond53 = restart(found.beyond53, rowNumber)
      if (cell[0] === '"' && cell.includes('\\"')) escapedQuotes = restart(escapedQuotes, rowNumber)
      if (cell.includes('\ufffd')) found.replaced = restart(found.replaced, rowNumber)
    }
  }
  const end = (): ColumnEvidence => ({
    name,
    empties,
    longest,
    ...memory.findings(),
    ...found,
    ...(escapedQuotes && {escapedQuotes}),
    ...tally(counts),
  })
  return {add, end}
}

const restart = (found: FoundEvidence | null, rowNumber: number): FoundEvidence => ({
  count: (found?.count ?? 0) + 1,
  firstRow: found?.firstRow ?? rowNumber,
})

const tally = (counts: Uint32Array) => {
  const kinds: ColumnEvidence['kinds'] = {}
  const dates = {dmy: 0, mdy: 0, ymd: 0, ambiguous: 0}
  const marks = {point: 0, comma: 0, ambiguous: 0}
  const amounts = amountsIn(counts)
  let shortYears = 0
  for (const [index, count] of counts.entries()) {
    if (!count) continue
    const {kind, order, mark, amount, shortYear} = looks[index]!
    kinds[kind] = (kinds[kind] ?? 0) + count
    if (order) dates[order] += count
    if (shortYear) shortYears += count
    if (mark && (amounts || !amount)) marks[mark] += count
  }
  return {kinds, dates, marks, ...(shortYears && {shortYears}), ...(amounts && {amounts})}
}

/** Returns 0 unless at least two thirds of the values are numbers or amounts. */
const amountsIn = (counts: Uint32Array) => {
  const countOf = (is: (look: (typeof looks)[number]) => unknown) =>
    counts.reduce((sum, count, index) => (is(looks[index]!) ? sum + count : sum), 0)
  const amounts = countOf(({amount}) => amount)
  const numbers = countOf(({kind}) => kind === 'integer' || kind === 'decimal')
  return 3 * (amounts + numbers) >= 2 * countOf(() => true) ? amounts : 0
}
