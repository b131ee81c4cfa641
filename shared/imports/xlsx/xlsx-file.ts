import {Refusal} from '../../errors.ts'
import type {XlsxReader} from '../reader.ts'
import {chunkRows, columnsOf, maxFilledCells, maxRowCharacters, type Row, type Table} from '../row.ts'
import {type CellContext, readCell, type StoredKind} from './cell.ts'
import {type Range, rangeOf} from './range.ts'
import {readSharedStrings} from './shared-strings.ts'
import {readSheet, type SheetEnd, type SheetRow, tooLong} from './sheet.ts'
import {readStyles} from './styles.ts'
import {chooseSheet, readWorkbook, type Sheet} from './workbook.ts'
import {openZip, type StoredObject} from './zip.ts'

export type WorkbookLimits = {
  /** Bytes a workbook may unpack to. */
  unpacked: number
  /** Bytes of shared strings held in memory; more wait in a temporary file. */
  strings: number
}

/** How a column's cells are stored, by kind. */
export type Stored = Partial<Record<StoredKind, number>>
export type WorkbookEvidence = {
  /** The year days are counted from. */
  epoch: 1900 | 1904
  /** Ranges of the sheet merged into one cell: the first has the value, the others are empty. */
  merged: number
}

export type XlsxFile = Table & {
  sheet: Sheet
  sheets: Sheet[]
  /** Whole once the rows are read to their end. */
  evidence: WorkbookEvidence
  stored: Stored[]
}

const cellsAtOnce = 250_000
/** One shared string may be named by many cells, and each of them is the whole of it. */
const charactersAtOnce = 4 * maxRowCharacters

type Options = Pick<XlsxReader, 'headerRow' | 'range'> & {sheet?: string | undefined}

/** Reads as far as the header. `rows` must be run through or closed with `return()`: they hold the workbook open. */
export const openXlsx = async (object: StoredObject, reader: Options, limits: WorkbookLimits): Promise<XlsxFile> => {
  const zip = await openZip(object, limits.unpacked)
  let strings: CellContext['strings'] | undefined
  const close = () => {
    strings?.close()
    zip.close()
  }
  try {
    const workbook = await readWorkbook(zip)
    const {path, ...sheet} = chooseSheet(workbook, reader.sheet)
    const sheets = workbook.sheets.map(({name, state}) => ({name, state}))
    const styles = await readStyles(zip, workbook.styles)
    strings = await readSharedStrings(zip, workbook.strings, limits.strings)
    const end: SheetEnd & WorkbookEvidence = {merged: 0, epoch: workbook.epoch}
    const file: XlsxFile = {columns: [], rows: null as never, sheet, sheets, evidence: end, stored: []}
    const cells = {strings, styles, epoch: workbook.epoch}
    file.rows = rowsOf(readSheet(zip, path, end), {reader, cells, file, close})
    // The first step ends at the header, so that `return()` finds a generator that has begun and closes the workbook.
    await file.rows.next()
    return file
  } catch (error) {
    close()
    throw error
  }
}

type Reading = {reader: Options; cells: CellContext; file: XlsxFile; close(): void}

async function* rowsOf(sheet: AsyncIterable<SheetRow[]>, {reader, cells, file, close}: Reading): AsyncGenerator<Row[], void, undefined> {
  const range = rangeOf(reader.range)
  const take = (row: SheetRow) => cellsOf(row, range, cells)
  let rows: ReturnType<typeof openRows> | undefined
  try {
    for await (const piece of within(sheet, range)) {
      for (const row of piece) {
        const taken = take(row)
        if (rows) yield* rows.next(row.number, taken)
        else if (taken.texts.length) {
          file.columns = columnsOf(headerOf(taken.texts, reader, range))
          rows = openRows(file, row.number)
          yield []
          if (!reader.headerRow) yield* rows.next(row.number, taken)
        }
      }
      if (rows) yield* rows.flush()
    }
    if (!rows)
      throw new Refusal('FILE_EMPTY', `The sheet "${file.sheet.name}" is empty. Name another sheet, or another range`, {
        sheets: file.sheets,
      })
    if (!rows.count())
      throw new Refusal(
        'FILE_NO_ROWS',
        `The sheet "${file.sheet.name}" has a header but no row under it. Name another sheet, or set headerRow to false`,
        {sheets: file.sheets},
      )
  } finally {
    close()
  }
}

/** The rows of the range; nothing is read below it. */
async function* within(sheet: AsyncIterable<SheetRow[]>, {top, bottom}: Range) {
  for await (const rows of sheet) {
    yield rows.filter(({number}) => number >= top && number <= bottom)
    if (rows.at(-1)!.number >= bottom) return
  }
}

type Taken = {texts: string[]; stored: string[]; kinds: (StoredKind | undefined)[]; differs: boolean; characters: number}

/** Up to the last cell of the range that is not empty. */
const cellsOf = ({number, cells}: SheetRow, {left, right}: Range, context: CellContext): Taken => {
  const taken: Taken = {texts: [], stored: [], kinds: [], differs: false, characters: 0}
  for (const cell of cells) {
    const at = cell.column - left
    if (at < 0 || (right !== null && cell.column > right)) continue
    const {text, stored, kind} = readCell(cell, context)
    if (text !== '' || kind === 'uncalculated') taken.kinds[at] = kind
    if (text === '') continue
    taken.characters += text.length
    if (taken.characters > maxRowCharacters) throw tooLong(number)
    while (taken.texts.length <= at) {
      taken.texts.push('')
      taken.stored.push('')
    }
    taken.texts[at] = text
    taken.stored[at] = stored
    taken.differs ||= text !== stored
  }
  return taken
}

const headerOf = (texts: string[], {headerRow}: Options, {left, right}: Range) => {
  const width = right === null ? texts.length : right - left + 1
  return Array.from({length: width}, (_, at) => (headerRow ? (texts[at] ?? '') : ''))
}

/** Numbers the rows and fits them to the header. Blank rows are rows once another follows; those at the end are none. */
const openRows = (file: XlsxFile, headerNumber: number) => {
  const width = file.columns.length
  let [rowNumber, last, filled] = [0, headerNumber, 0]
  let ready: Row[] = []
  let [size, characters] = [0, 0]
  const push = (row: Row) => {
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
  const fitted = ({texts, stored, differs}: Taken): Row => {
    rowNumber++
    if (texts.length > width) return {rowNumber, cells: texts, ragged: true, ...(differs && {stored})}
    filled -= texts.length
    while (texts.length < width) {
      texts.push('')
      stored.push('')
    }
    return {rowNumber, cells: texts, ragged: false, ...(differs && {stored})}
  }
  function* next(number: number, taken: Taken) {
    for (const [at, kind] of taken.kinds.entries()) if (kind) count(file.stored, at, kind)
    if (!taken.texts.length) return
    for (last++; last < number; last++)
      if (push({rowNumber: ++rowNumber, cells: new Array<string>(width).fill(''), ragged: false})) yield* flush()
    last = number
    characters += taken.characters
    if (push(fitted(taken))) yield* flush()
  }
  return {next, flush, count: () => rowNumber}
}

const count = (stored: Stored[], at: number, kind: StoredKind) => {
  const of = (stored[at] ??= {})
  of[kind] = (of[kind] ?? 0) + 1
}

const tooSparse = (row: number) =>
  new Refusal('UNREADABLE', `Up to row ${row} of the sheet more than ${maxFilledCells.toLocaleString('en')} cells are empty. Set a range`, {
    sheetRow: row,
    limit: maxFilledCells,
  })
