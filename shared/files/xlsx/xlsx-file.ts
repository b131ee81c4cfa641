import {setImmediate} from 'node:timers/promises'
import {Refusal} from '../../errors.ts'
import {isGuarded, unguardCell} from '../../runs/results/formula-guard.ts'
import {type HeaderProposal, mostHeaderRows, proposeHeader} from '../csv/header-row.ts'
import type {XlsxReader} from '../reader.ts'
import {charactersAtOnce, chunkRows, columnsOf, type FileRow, maxFilledCells, maxRowCharacters, type Table} from '../row.ts'
import {type CellContext, type LongDecimals, type NumberReading, type ReadCell, readCell, type StoredKind, textOf} from './cell.ts'
import {fromRow, type Range, rangeOf, within} from './range.ts'
import {readSharedStrings} from './shared-strings.ts'
import {readSheet} from './sheet.ts'
import {type SheetEnd, type SheetRow, tooLong} from './sheet-row.ts'
import {readStyles} from './styles.ts'
import {listCandidates, readWorkbook, type Sheet} from './workbook.ts'
import {openZip, type StoredObject} from './zip.ts'

export type WorkbookLimits = {
  unpacked: number
  /** Maximum bytes of shared strings in memory. A larger table goes to a temporary file. */
  strings: number
}

export type StoredWorkbook = Partial<Record<StoredKind, number>>
/** An example of a column: its first number whose displayed text differs from the stored text. */
export type FormattedCells = {displayed: string; stored: string}
export type WorkbookEvidence = {
  epoch: 1900 | 1904
  /** The number of merged ranges of the sheet. The first cell of each range has the value; the others are empty. */
  merged: number
}

export type XlsxFile = Table & {
  sheet: Sheet
  /** The first visible sheet, if it was skipped because it has no rows. */
  passed: string | null
  sheets: Sheet[]
  /** Complete once the rows are read to their end. */
  evidence: WorkbookEvidence
  /** Whether the sheet is read to its end if the range ends earlier, so that its merged ranges are counted. */
  countsMerged: boolean
  stored: StoredWorkbook[]
  formatted: (FormattedCells | undefined)[]
  guards: Guards
  decimals: LongDecimals
  proposeHeader(): HeaderProposal | null
  /** Returns the non-empty rows among the first 30 rows that were read. Call this only before `rows` ends. */
  firstRows(): {number: number; cells: string[]}[]
}

/** Apostrophes that failed.csv puts before cells that look like formulas. `areRemoved`: the reader removes them. `found`: a cell has one. */
type Guards = {areRemoved: boolean; found: boolean}

const cellsAtOnce = 250_000
/** Interval at which the reader yields to the event loop, because a short piece of XML may refer to long strings in many rows. */
const turnMs = 25

export type NumbersOf = (column: string) => NumberReading
type Options = Pick<XlsxReader, 'headerRow' | 'range' | 'apostrophes' | 'decimals'> & {
  sheet?: string | undefined
  numbersOf?: NumbersOf | undefined
}

/**
 * Opens a workbook and reads up to the header of the named sheet, or of the first visible sheet with rows. `rows` keeps the workbook open, so read
 * `rows` to the end or close it with `return()`.
 */
export const openXlsx = async (object: StoredObject, reader: Options, limits: WorkbookLimits): Promise<XlsxFile> => {
  const zip = await openZip(object, limits.unpacked)
  let strings: CellContext['strings'] | undefined
  const close = () => {
    strings?.close()
    zip.close()
  }
  try {
    const workbook = await readWorkbook(zip)
    const sheets = workbook.sheets.map(({name, state}) => ({name, state}))
    const styles = await readStyles(zip, workbook.styles)
    strings = await readSharedStrings(zip, workbook.strings, limits.strings)
    const end: SheetEnd & WorkbookEvidence = {merged: 0, epoch: workbook.epoch}
    const guards = {areRemoved: reader.apostrophes === 'remove', found: false}
    const decimals = {areShort: reader.decimals === 'shortest', found: false}
    const cells = {strings, styles, epoch: workbook.epoch}
    const candidates = listCandidates(workbook, reader.sheet)
    const {path, ...sheet} = await firstWithRows(candidates, rowsIn => countRows(readSheet(zip, rowsIn, {merged: 0}), reader, cells))
    const first = candidates[0]!.name
    const file: XlsxFile = {
      columns: [],
      rows: null as never,
      sheet,
      passed: first === sheet.name ? null : first,
      sheets,
      evidence: end,
      countsMerged: false,
      stored: [],
      formatted: [],
      guards,
      decimals,
      proposeHeader: () => null,
      firstRows: () => [],
    }
    file.rows = rowsOf(readSheet(zip, path, end), {reader, cells: {...cells, guards, decimals}, file, close})
    // The first `next()` reads up to the header. Only a started generator closes the workbook when `return()` is called.
    await file.rows.next()
    return file
  } catch (error) {
    close()
    throw error
  }
}

type Candidates = ReturnType<typeof listCandidates>

/**
 * Returns the first candidate with rows, else the first candidate. Reading a sheet without rows then throws an error that says what is missing.
 */
const firstWithRows = async (candidates: Candidates, count: (path: string) => Promise<number>): Promise<Candidates[number]> => {
  if (candidates.length > 1) for (const candidate of candidates) if ((await count(candidate.path)) > 1) return candidate
  return candidates[0]!
}

/** Counts the non-empty rows of the range, up to two: a header and a row. Without a header row, the count begins at 1. */
const countRows = async (sheet: AsyncGenerator<SheetRow[]>, reader: Options, cells: CellContext): Promise<number> => {
  const range = rangeOf(reader.range)
  let count = reader.headerRow ? 0 : 1
  for await (const piece of within(sheet, range)) {
    for (const row of piece) if (cellsOf(row, range, cells, asStored).texts.length && ++count > 1) return count
  }
  return count
}

type Context = CellContext & {guards?: Guards}
type RowReading = {reader: Options; cells: Context; file: XlsxFile; close(): void}

async function* rowsOf(
  sheet: AsyncGenerator<SheetRow[]>,
  {reader, cells, file, close}: RowReading,
): AsyncGenerator<FileRow[], void, undefined> {
  const range = rangeOf(reader.range)
  const modes: NumberReading[] = []
  const early: SheetRow[] = []
  file.firstRows = () =>
    early.flatMap(row => {
      const {texts} = cellsOf(row, range, cells, asStored)
      return texts.length > 0 ? [{number: row.number, cells: texts}] : []
    })
  const take = (row: SheetRow) => cellsOf(row, range, cells, modes)
  let rows: ReturnType<typeof openRows> | undefined
  let since = performance.now()
  try {
    for await (const piece of within(sheet, range, file)) {
      for (const row of piece) {
        if (performance.now() - since > turnMs) {
          await setImmediate()
          since = performance.now()
        }
        if (early.length < mostHeaderRows) early.push(row)
        if (rows) {
          yield* rows.next(row.number, take(row))
          continue
        }
        const {texts} = cellsOf(row, range, cells, asStored)
        if (!texts.length) continue
        file.columns = columnsOf(headerOf(texts, reader, range))
        modes.push(...file.columns.map(name => reader.numbersOf?.(name) ?? {}))
        rows = openRows(file, row.number)
        yield []
        if (!reader.headerRow) yield* rows.next(row.number, take(row))
      }
      if (rows) yield* rows.flush()
    }
    const header = reader.headerRow ? headerIn(early, reader, cells) : null
    file.proposeHeader = () => header
    if (!rows)
      throw new Refusal('FILE_EMPTY', `The sheet "${file.sheet.name}" is empty. Name another sheet, or another range`, {
        sheets: file.sheets,
      })
    if (!rows.count())
      throw new Refusal(
        'FILE_NO_ROWS',
        `The sheet "${file.sheet.name}" has a header but no rows below it. Name another sheet, or set headerRow to false`,
        {sheets: file.sheets},
      )
  } finally {
    close()
  }
}

const headerIn = (rows: SheetRow[], {range: text}: Options, cells: Context) => {
  const range = rangeOf(text)
  const proposed = proposeHeader(rows.map(row => cellsOf(row, range, cells, asStored).texts))
  return proposed && {title: proposed.title, columns: proposed.columns, reader: {range: fromRow(text, rows[proposed.at]!.number)}}
}

type TakenRows = {
  texts: string[]
  stored: string[]
  kinds: (ReadCell | undefined)[]
  differs: boolean
  characters: number
  faults: FileRow['faults']
  numeric: FileRow['numeric']
}

/** Empty settings read every cell as stored, to count rows and to read column names. */
const asStored: NumberReading[] = []
const asWritten: NumberReading = {numbers: 'stored'}
const numberKinds = new Set<StoredKind>(['number', 'percent', 'scaled', 'padded'])

const cellsOf = ({number, cells}: SheetRow, {left, right}: Range, context: Context, modes: NumberReading[]): TakenRows => {
  const takenRows: TakenRows = {texts: [], stored: [], kinds: [], differs: false, characters: 0, faults: undefined, numeric: undefined}
  for (const cell of cells) {
    const at = cell.column - left
    if (at < 0 || (right !== null && cell.column > right)) continue
    const read = withoutGuard(readCell(cell, context), context.guards)
    const text = textOf(read, modes[at] ?? asWritten)
    if (text !== '' || read.kind === 'uncalculated') takenRows.kinds[at] = read
    if (text === '') continue
    if (read.fault) takenRows.faults = {...takenRows.faults, [at]: read.fault}
    if (modes[at]?.decimalMark === 'comma' && numberKinds.has(read.kind) && text.includes('.')) (takenRows.numeric ??= {})[at] = true
    takenRows.characters += text.length
    if (takenRows.characters > maxRowCharacters) throw tooLong(number)
    while (takenRows.texts.length <= at) {
      takenRows.texts.push('')
      takenRows.stored.push('')
    }
    takenRows.texts[at] = text
    takenRows.stored[at] = read.stored
    takenRows.differs ||= text !== read.stored
  }
  return takenRows
}

const withoutGuard = (read: ReadCell, guards: Guards | undefined): ReadCell => {
  if (!guards || read.kind !== 'text' || !isGuarded(read.text)) return read
  guards.found = true
  return guards.areRemoved ? {...read, text: unguardCell(read.text), stored: unguardCell(read.stored)} : read
}

const headerOf = (texts: string[], {headerRow}: Options, {left, right}: Range) => {
  const width = right === null ? texts.length : right - left + 1
  return Array.from({length: width}, (_, at) => (headerRow ? (texts[at] ?? '') : ''))
}

/** Pads rows shorter than the header and marks longer rows as ragged. Blank rows get numbers only if a row with cells follows. */
const openRows = (file: XlsxFile, headerNumber: number) => {
  const width = file.columns.length
  let [rowNumber, last, filled] = [0, headerNumber, 0]
  let ready: FileRow[] = []
  let [size, characters] = [0, 0]
  const push = (row: FileRow) => {
    size += row.cells.length
    ready.push(row)
    filled += row.ragged ? 0 : width
    if (filled > maxFilledCells) throw tooSparse(last)
    return ready.length >= chunkRows || size >= cellsAtOnce || characters >= charactersAtOnce
  }
  function* flush() {
    if (ready.length) yield ready
    ready = []
    ;[size, characters] = [0, 0]
  }
  const fitted = ({texts, stored, differs, faults, numeric}: TakenRows): FileRow => {
    rowNumber++
    const more = {...(differs && {stored}), ...(faults && {faults}), ...(numeric && {numeric})}
    if (texts.length > width) return {rowNumber, cells: texts, ragged: true, ...more}
    filled -= texts.length
    while (texts.length < width) {
      texts.push('')
      stored.push('')
    }
    return {rowNumber, cells: texts, ragged: false, ...more}
  }
  function* next(number: number, takenRows: TakenRows) {
    for (const [at, read] of takenRows.kinds.entries()) if (read) count(file, at, read)
    if (!takenRows.texts.length) return
    for (last++; last < number; last++)
      if (push({rowNumber: ++rowNumber, cells: new Array<string>(width).fill(''), ragged: false})) yield* flush()
    last = number
    characters += takenRows.characters
    if (push(fitted(takenRows))) yield* flush()
  }
  return {next, flush, count: () => rowNumber}
}

const count = ({stored, formatted}: XlsxFile, at: number, {kind, text, plain}: ReadCell) => {
  const of = (stored[at] ??= {})
  of[kind] = (of[kind] ?? 0) + 1
  if (plain !== undefined && plain !== text) formatted[at] ??= {displayed: text, stored: plain}
}

const tooSparse = (row: number) =>
  new Refusal('UNREADABLE', `By row ${row} of the sheet, more than ${maxFilledCells.toLocaleString('en')} cells are empty. Set a range`, {
    sheetRow: row,
    limit: maxFilledCells,
  })
