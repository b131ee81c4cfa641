import {setImmediate} from 'node:timers/promises'
import {Refusal} from '../../errors.ts'
import {openDigestMap} from '../digest-map.ts'
import {charactersAtOnce, charactersIn, describeMisfit, type FileRow, maxRowCharacters, type Table} from '../row.ts'
import {type NumberedStep, openGrowthLimit} from './cleaned-size.ts'
import {type Cleaning, type CleaningStep, cleaningIssues} from './cleaning.ts'
import {replacing} from './pattern.ts'
import {openRowFilter, type RowFilter} from './row-filter.ts'

type CleaningLimits = {
  /** Maximum number of characters in the whole file, checked after every step. */
  fileCharacters: number
}

/**
 * Cleans the cells of a table and marks the rows that a step excludes; `read` keeps the original cells. Steps depend on earlier rows, so a
 * table is always cleaned from its first row. Memory is constant except for duplicates, which take 40 to 80 bytes per distinct key, up to
 * 2,000,000 keys. After every step, each row and the file must be within the readers' limits.
 */
export const cleaned = (table: Table, steps: Cleaning, {fileCharacters}: CleaningLimits): Table => {
  if (!steps.length) return table
  const issues = cleaningIssues(steps, table.columns)
  if (issues.length) throw new Refusal('INVALID', `The cleaning does not fit the file: ${issues[0]!.message}`, {issues})
  const columns = [...table.columns]
  const strikings: RowFilter[] = []
  const made = steps.map((step, at) => {
    const numbered = {number: at + 1, name: step.step}
    const limit = openGrowthLimit(numbered, fileCharacters)
    if (step.step !== 'strikeWhere') return namingStep(numbered, mapRows(applying(columns, step, limit.tooLong), limit.count))
    const striking = openRowFilter(step.expression, [...columns])
    strikings.push(striking)
    return namingStep(numbered, removeRowsBy(striking))
  })
  return {columns, rows: cleanRows(table.rows, made, strikings)}
}

async function* cleanRows(rows: Table['rows'], steps: Step[], strikings: RowFilter[]): Table['rows'] {
  try {
    for await (const chunk of rows)
      yield* applySteps(
        chunk.map(row => ({...row, cells: [...row.cells], read: row.cells, ...factsOf(row)})),
        steps,
      )
  } finally {
    await Promise.all(strikings.map(striking => striking.close()))
  }
}

/** Copies what a step may change. */
const factsOf = ({faults, numeric}: FileRow) => ({...(faults && {faults: {...faults}}), ...(numeric && {numeric: {...numeric}})})

/** A step yields a chunk in parts if the text of the chunk has become too long, so that memory stays limited. */
async function* applySteps(rows: FileRow[], [step, ...later]: Step[]): AsyncGenerator<FileRow[], void, undefined> {
  if (!step) yield rows
  else for await (const part of step(rows)) yield* applySteps(part, later)
}

/** Changes cells in place, or marks excluded rows by setting `struck`. Yields all rows in order, in one or several parts. */
type Step = (rows: FileRow[]) => AsyncGenerator<FileRow[], void, undefined>
/** Applies a step to one row. Returns the reason if the row is excluded. */
type Apply = (row: FileRow) => string | undefined

/** Interval at which a step yields to the event loop, so that leases are renewed. A slow pattern may take minutes for a chunk. */
const turnMs = 50

const mapRows = (apply: Apply, count: (row: FileRow) => number): Step =>
  async function* (rows) {
    let since = performance.now()
    let characters = 0
    for (let at = 0; at < rows.length; at++) {
      const row = rows[at]!
      const struck = row.struck === undefined ? apply(row) : undefined
      if (struck !== undefined) row.struck = struck
      characters += count(row)
      if (characters >= charactersAtOnce) {
        // The yielded rows are removed from `rows`, so that they can be freed while the others are cleaned.
        yield rows.splice(0, at + 1)
        at = -1
        characters = 0
      }
      if (performance.now() - since < turnMs) continue
      await setImmediate()
      since = performance.now()
    }
    if (rows.length > 0) yield rows
  }

const removeRowsBy = (striking: RowFilter): Step =>
  async function* (rows) {
    await striking.strike(rows.filter(({struck}) => struck === undefined))
    yield rows
  }

const namingStep = ({number, name}: NumberedStep, step: Step): Step =>
  async function* (rows) {
    try {
      yield* step(rows)
    } catch (error) {
      if (!(error instanceof Refusal) || 'step' in error.extra) throw error
      throw new Refusal(error.code, `Cleaning step ${number} (${name}): ${error.message}`, {step: number, ...error.extra})
    }
  }

type TooLong = (row: number) => Refusal

/** A split adds its new columns to `columns`. */
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
      return removeEmpty(places(step.columns))
    case 'strikeDuplicates':
      return removeDuplicates(places(step.columns), step.ignoreCase)
    case 'strikeRows':
      return removeRows(step.rows)
    case 'editCells':
      return editCells(columns, step)
  }
}

/** Makes a step skip ragged rows, because their cells may be in the wrong columns. */
const whole =
  (apply: Apply): Apply =>
  row =>
    row.ragged ? undefined : apply(row)

const eachCell = (places: number[], change: (cell: string, row: number) => string, tooLong: TooLong): Apply =>
  whole(row => {
    const {cells, rowNumber} = row
    let room = maxRowCharacters - charactersIn(cells)
    for (const at of places) {
      const cell = cells[at]!
      setCell(row, at, change(cell, rowNumber))
      room -= cells[at]!.length - cell.length
      // The length is checked after each cell, so that a wide row does not grow completely before it is refused.
      if (room < 0) throw tooLong(rowNumber)
    }
    return undefined
  })

/** Sets the value of a cell. A changed cell is text without a fault. */
const setCell = ({cells, faults, numeric}: FileRow, at: number, value: string) => {
  if (cells[at] === value) return
  if (faults) delete faults[at]
  if (numeric) delete numeric[at]
  cells[at] = value
}

/**
 * Copies the cell above, with its fault and its kind, into each blank cell of the named columns. A blank row stays blank, because it separates groups.
 * In a table that has only the named columns, it is filled.
 */
const fillDown = (places: number[]): Apply => {
  const last = new Map<number, {cell: string; fault: string | undefined; isNumeric: boolean}>()
  return whole(row => {
    if (row.cells.length > places.length && !row.faults && isBlank(row.cells, [...row.cells.keys()])) return undefined
    for (const at of places) {
      const [cell, fault, above] = [row.cells[at]!, row.faults?.[at], last.get(at)]
      if (fault !== undefined || cell.trim() !== '') last.set(at, {cell, fault, isNumeric: row.numeric?.[at] === true})
      else if (above) {
        row.cells[at] = above.cell
        if (above.fault !== undefined) (row.faults ??= {})[at] = above.fault
        if (above.isNumeric) (row.numeric ??= {})[at] = true
      }
    }
    return undefined
  })
}

/** The new cells get the fault of the cell that is split. */
const split = (columns: string[], {column, separator, into}: Extract<CleaningStep, {step: 'split'}>): Apply => {
  const from = columns.indexOf(column)
  columns.push(...into)
  return whole(row => {
    const {cells, faults} = row
    if (faults?.[from] !== undefined) for (const part of into.keys()) faults[cells.length + part] = faults[from]
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

const removeEmpty = (places: number[]): Apply => whole(({cells}) => (isBlank(cells, places) ? 'The row is empty' : undefined))

const removeDuplicates = (places: number[], ignoreCase: boolean): Apply => {
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
    `Row ${row} exceeds the limit of ${limit.toLocaleString('en')} distinct keys for finding duplicates. Split the file, or leave this step out`,
    {row, limit},
  )

/** Rows arrive in order, so each range is passed once. */
const removeRows = (rows: {from: number; to: number}[]): Apply => {
  const ranges = joined(rows)
  let next = 0
  return ({rowNumber}) => {
    while (next < ranges.length && ranges[next]!.to < rowNumber) next++
    return next < ranges.length && ranges[next]!.from <= rowNumber ? 'The row was excluded by its number' : undefined
  }
}

/** Throws for a cell of a ragged row, because its cells may be in the wrong columns. */
const editCells = (columns: string[], {cells: edited}: Extract<CleaningStep, {step: 'editCells'}>): Apply => {
  const byRow = Map.groupBy(edited, ({row}) => row)
  return row => {
    const {rowNumber, ragged} = row
    const edits = byRow.get(rowNumber)
    if (!edits) return undefined
    if (ragged)
      throw new Refusal('UNREADABLE', `Row ${rowNumber} ${describeMisfit(row)}, so its cells cannot be edited. Correct the file`, {
        row: rowNumber,
      })
    row.edited = Object.fromEntries(edits.map(({column, value}) => [columns.indexOf(column), value]))
    for (const [at, value] of Object.entries(row.edited)) editCell(row, Number(at), value)
    return undefined
  }
}

/** If a person replaces a number by a number with a point, the cell stays a number, because it showed a point. */
const editCell = (row: FileRow, at: number, value: string) => {
  const isNumber = row.numeric?.[at] === true && /^[+-]?\d*\.\d+$/.test(value.trim())
  setCell(row, at, value)
  if (isNumber) row.numeric![at] = true
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
