import {setImmediate} from 'node:timers/promises'
import {Refusal} from '../errors.ts'
import {type Cleaning, type CleaningStep, cleaningIssues} from './cleaning.ts'
import {openDigestMap} from './digest-map.ts'
import {replacing} from './pattern.ts'
import type {Row, Table} from './row.ts'
import {openStriking, type Striking} from './strike-where.ts'

/**
 * A table with its cells cleaned and its struck rows marked; `read` keeps the cells as they were. Steps remember what rows above held, so a
 * table is always cleaned from its first row on: who resumes reads from there again. What they remember does not grow with the rows, but for
 * duplicates: 40 to 80 bytes a distinct key, 2,000,000 of them at the most.
 */
export const cleaned = (table: Table, steps: Cleaning): Table => {
  if (!steps.length) return table
  const issues = cleaningIssues(steps, table.columns)
  if (issues.length) throw new Refusal('INVALID', `The cleaning does not fit the file: ${issues[0]!.message}`, {issues})
  const columns = [...table.columns]
  const strikings: Striking[] = []
  const made = steps.map(step => stepOver(columns, step, strikings))
  return {columns, rows: cleanRows(table.rows, made, strikings)}
}

async function* cleanRows(rows: Table['rows'], steps: Step[], strikings: Striking[]): Table['rows'] {
  try {
    for await (const chunk of rows) {
      const made: Row[] = chunk.map(row => ({...row, cells: [...row.cells], read: row.cells}))
      let left = made
      for (const step of steps) {
        await step(left)
        left = left.filter(({struck}) => struck === undefined)
      }
      yield made
    }
  } finally {
    await Promise.all(strikings.map(striking => striking.close()))
  }
}

/** Changes the cells of a chunk's rows in place, or says of some why they are struck. Is given those that no step before it struck. */
type Step = (rows: Row[]) => void | Promise<void>
/** The same for one row. */
type Apply = (row: Row) => string | undefined

/** A chunk under a costly pattern may take minutes: whatever else the process is at, leases above all, gets its turn. */
const turnMs = 50

const toEach =
  (apply: Apply): Step =>
  async rows => {
    let since = performance.now()
    for (const row of rows) {
      const struck = apply(row)
      if (struck !== undefined) row.struck = struck
      if (performance.now() - since < turnMs) continue
      await setImmediate()
      since = performance.now()
    }
  }

/** `columns` grows by those that are split off, `strikings` by what is to be closed with the rows. */
const stepOver = (columns: string[], step: CleaningStep, strikings: Striking[]): Step => {
  if (step.step !== 'strikeWhere') return toEach(applying(columns, step))
  const striking = openStriking(step.expression, [...columns])
  strikings.push(striking)
  return striking.strike
}

const applying = (columns: string[], step: Exclude<CleaningStep, {step: 'strikeWhere'}>): Apply => {
  const places = (names?: string[]) => (names ? names.map(name => columns.indexOf(name)) : columns.map((_, at) => at))
  switch (step.step) {
    case 'trim':
      return eachCell(places(step.columns), cell => cell.trim())
    case 'collapseSpaces':
      return eachCell(places(step.columns), cell => cell.replace(/\s+/g, ' '))
    case 'replace':
      return eachCell(places(step.columns), replacing(step))
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

const eachCell = (places: number[], change: (cell: string, row: number) => string): Apply =>
  whole(({cells, rowNumber}) => {
    for (const at of places) cells[at] = change(cells[at]!, rowNumber)
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
