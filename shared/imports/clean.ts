import {setImmediate} from 'node:timers/promises'
import {Refusal} from '../errors.ts'
import {openGrowthLimit} from './cleaned-size.ts'
import {type Cleaning, type CleaningStep, cleaningIssues} from './cleaning.ts'
import {openDigestMap} from './digest-map.ts'
import {replacing} from './pattern.ts'
import {charactersAtOnce, charactersIn, maxRowCharacters, type Row, type Table} from './row.ts'
import {openStriking, type Striking} from './strike-where.ts'

type CleaningLimits = {
  /** Characters that the rows of the file may have together after any step. */
  fileCharacters: number
}

/**
 * Cleans the cells of a table and marks the rows that a step strikes; `read` keeps the cells as they were. Steps remember earlier rows, so a
 * table is always cleaned from its first row. Their memory does not grow with the rows, except for duplicates: 40 to 80 bytes for each
 * distinct key, up to 2,000,000 keys. After every step a row and the file stay within the limits of the readers.
 */
export const cleaned = (table: Table, steps: Cleaning, {fileCharacters}: CleaningLimits): Table => {
  if (!steps.length) return table
  const issues = cleaningIssues(steps, table.columns)
  if (issues.length) throw new Refusal('INVALID', `The cleaning does not fit the file: ${issues[0]!.message}`, {issues})
  const columns = [...table.columns]
  const strikings: Striking[] = []
  const made = steps.map((step, at) => {
    const limit = openGrowthLimit({number: at + 1, name: step.step}, fileCharacters)
    if (step.step !== 'strikeWhere') return toEach(applying(columns, step, limit.tooLong), limit.count)
    const striking = openStriking(step.expression, [...columns])
    strikings.push(striking)
    return strikingBy(striking)
  })
  return {columns, rows: cleanRows(table.rows, made, strikings)}
}

async function* cleanRows(rows: Table['rows'], steps: Step[], strikings: Striking[]): Table['rows'] {
  try {
    for await (const chunk of rows)
      yield* applySteps(
        chunk.map(row => ({...row, cells: [...row.cells], read: row.cells})),
        steps,
      )
  } finally {
    await Promise.all(strikings.map(striking => striking.close()))
  }
}

/** A chunk that a step made longer continues in parts, so a growing step does not multiply the memory of a whole chunk. */
async function* applySteps(rows: Row[], [step, ...later]: Step[]): AsyncGenerator<Row[], void, undefined> {
  if (!step) yield rows
  else for await (const part of step(rows)) yield* applySteps(part, later)
}

/** Changes the cells of rows in place or marks rows as struck, and gives all rows back in order, in one part or several. */
type Step = (rows: Row[]) => AsyncGenerator<Row[], void, undefined>
/** Does the same to one row: answers the reason if the row is struck. */
type Apply = (row: Row) => string | undefined

/** A costly pattern may take minutes for a chunk: other work of the process, such as renewing leases, runs in between. */
const turnMs = 50

const toEach = (apply: Apply, count: (row: Row) => number): Step =>
  async function* (rows) {
    let since = performance.now()
    let characters = 0
    for (let at = 0; at < rows.length; at++) {
      const row = rows[at]!
      const struck = row.struck === undefined ? apply(row) : undefined
      if (struck !== undefined) row.struck = struck
      characters += count(row)
      if (characters >= charactersAtOnce) {
        // Taken out of `rows`, so that they are freed while the others are cleaned.
        yield rows.splice(0, at + 1)
        at = -1
        characters = 0
      }
      if (performance.now() - since < turnMs) continue
      await setImmediate()
      since = performance.now()
    }
    yield rows
  }

const strikingBy = (striking: Striking): Step =>
  async function* (rows) {
    await striking.strike(rows.filter(({struck}) => struck === undefined))
    yield rows
  }

type TooLong = (row: number) => Refusal

/** `columns` grows by those that are split off. */
const applying = (columns: string[], step: Exclude<CleaningStep, {step: 'strikeWhere'}>, tooLong: TooLong): Apply => {
  const places = (names?: string[]) => (names ? names.map(name => columns.indexOf(name)) : columns.map((_, at) => at))
  switch (step.step) {
    case 'trim':
      return eachCell(places(step.columns), cell => cell.trim(), tooLong)
    case 'collapseSpaces':
      return eachCell(places(step.columns), cell => cell.replace(/\s+/g, ' '), tooLong)
    case 'replace':
      return eachCell(places(step.columns), replacing(step, tooLong), tooLong)
    case 'fillDown':
      return fillDown(places(step.columns))
    case 'split':
      return split(columns, step)
    case 'strikeEmpty':
      return strikeEmpty(places(step.columns))
    case 'strikeDuplicates':
      return strikeDuplicates(places(step.columns), step.ignoreCase)
    case 'strikeRows':
      return strikeRows(step.rows)
  }
}

/** The cells of a ragged row may stand in other columns than they seem to: only its number is sure. */
const whole =
  (apply: Apply): Apply =>
  row =>
    row.ragged ? undefined : apply(row)

const eachCell = (places: number[], change: (cell: string, row: number) => string, tooLong: TooLong): Apply =>
  whole(({cells, rowNumber}) => {
    let room = maxRowCharacters - charactersIn(cells)
    for (const at of places) {
      const cell = cells[at]!
      cells[at] = change(cell, rowNumber)
      room -= cells[at].length - cell.length
      // Checked for each cell: the cells of a wide row would otherwise all grow before the row is refused.
      if (room < 0) throw tooLong(rowNumber)
    }
    return undefined
  })

const fillDown = (places: number[]): Apply => {
  const last = new Map<number, string>()
  return whole(({cells}) => {
    for (const at of places) {
      if (cells[at]!.trim() === '') cells[at] = last.get(at) ?? cells[at]!
      else last.set(at, cells[at]!)
    }
    return undefined
  })
}

const split = (columns: string[], {column, separator, into}: Extract<CleaningStep, {step: 'split'}>): Apply => {
  const from = columns.indexOf(column)
  columns.push(...into)
  return whole(({cells}) => {
    let rest = cells[from]!
    for (let part = 1; part < into.length; part++) {
      const at = rest.indexOf(separator)
      cells.push(at < 0 ? rest : rest.slice(0, at))
      rest = at < 0 ? '' : rest.slice(at + separator.length)
    }
    cells.push(rest)
    return undefined
  })
}

const isBlank = (cells: string[], places: number[]) => places.every(at => cells[at]!.trim() === '')

const strikeEmpty = (places: number[]): Apply => whole(({cells}) => (isBlank(cells, places) ? 'The row is empty' : undefined))

const strikeDuplicates = (places: number[], ignoreCase: boolean): Apply => {
  const keys = openDigestMap()
  return whole(({cells, rowNumber}) => {
    if (isBlank(cells, places)) return undefined
    if (keys.isFull()) throw tooManyKeys(rowNumber, keys.limit)
    const key = JSON.stringify(places.map(at => cells[at]))
    const before = keys.seen(ignoreCase ? key.toLowerCase() : key, rowNumber)
    return before === undefined ? undefined : `The row repeats row ${before}`
  })
}

const tooManyKeys = (row: number, limit: number) =>
  new Refusal(
    'UNREADABLE',
    `By row ${row} there are ${limit.toLocaleString('en')} different keys, the most duplicates are looked for among. Split the file, or leave this step out`,
    {row, limit},
  )

/** Rows come in order, so each range is left behind once. */
const strikeRows = (rows: {from: number; to: number}[]): Apply => {
  const ranges = joined(rows)
  let next = 0
  return ({rowNumber}) => {
    while (next < ranges.length && ranges[next]!.to < rowNumber) next++
    return next < ranges.length && ranges[next]!.from <= rowNumber ? 'The row was struck by its number' : undefined
  }
}

const joined = (rows: {from: number; to: number}[]) => {
  const ranges: {from: number; to: number}[] = []
  for (const {from, to} of rows.toSorted((a, b) => a.from - b.from)) {
    const last = ranges.at(-1)
    if (last && from <= last.to) last.to = Math.max(last.to, to)
    else ranges.push({from, to})
  }
  return ranges
}
