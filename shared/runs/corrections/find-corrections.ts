import type {Source} from '../../../sql/sources.ts'
import {Choices, readingsOf} from '../../files/choices.ts'
import {cleaned} from '../../files/cleaning/clean.ts'
import {Cleaning, type CleaningStep} from '../../files/cleaning/cleaning.ts'
import type {CellChange} from '../../files/cleaning/edit-cells.ts'
import type {FileRow, Table} from '../../files/row.ts'
import {evidenceOf} from '../../files/sources/evidence.ts'
import {fileGone} from '../../files/sources/read.ts'
import {type FileDeps, openFile} from '../../files/stored-file.ts'
import {openBadBytes} from '../../files/text/bad-bytes.ts'
import {StorageMissing} from '../../storage/missing.ts'
import {type CorrectedFile, openCorrectedRows, unfit} from './corrected-rows.ts'

export type CorrectionsInput = {
  source: Pick<Source, 'id' | 'fileKey' | 'reader' | 'cleaning' | 'choices' | 'evidence' | 'rows'>
  corrected: CorrectedFile
  /** The rows that no retry writes, because their records are or may be written. In ascending order. */
  settled: Uint32Array
  /** The columns by which rows are found if the corrected file has no row numbers and another number of rows. */
  keys: string[]
}

/**
 * `cells`: the cells to edit, with the names that columns have after cleaning; the value null removes an edit. `rows`: the number of rows with at
 * least one of these cells.
 */
export type Corrections = {cells: CellChange[]; rows: number; matchedBy: 'row' | 'order' | 'key'}

/** Refuses a corrected file that changes a settled row. A retry would not write the change, and the corrected file was probably sorted or cut. */
export const findCorrections = async (deps: FileDeps, input: CorrectionsInput): Promise<Corrections> => {
  try {
    return await compare(deps, input)
  } catch (error) {
    throw error instanceof StorageMissing ? fileGone() : error
  }
}

const compare = async (deps: FileDeps, {source, corrected, settled, keys}: CorrectionsInput): Promise<Corrections> => {
  const cleaning = Cleaning.parse(source.cleaning)
  const readings = readingsOf(evidenceOf(source).columns, Choices.parse(source.choices))
  const {columns, rows} = await openFile(deps, {...source, cleaning: [], readings}, {bad: openBadBytes()})
  const edits = editsOf(cleaning)
  const changed: {before: FileRow; after: FileRow}[] = []
  try {
    const found = await openCorrectedRows(deps, corrected, {id: source.id, columns, keys, rows: source.rows, readings})
    const isSettled = openSettled(settled)
    for await (const chunk of rows) {
      for (const row of chunk) {
        const cells = found.take(row)
        if (!cells) continue
        const isOver = isSettled(row.rowNumber)
        if (isSame(row, cells, {columns, edits, isOver})) continue
        assertCorrectable(row, isOver)
        changed.push({before: row, after: {...row, cells}})
      }
    }
    found.assertAllTaken()
    const cells = await editedCells(deps, {columns, changed, edits, cleaning, hasColumn: found.hasColumn})
    return {cells, rows: new Set(cells.map(({row}) => row)).size, matchedBy: found.matchedBy}
  } finally {
    await rows.return()
  }
}

const assertCorrectable = ({rowNumber, ragged}: FileRow, isSettled: boolean) => {
  if (isSettled)
    throw unfit(
      rowNumber,
      `Row ${rowNumber} is already imported, but the corrected file has other values for it. Upload only the failed rows`,
    )
  if (ragged)
    throw unfit(rowNumber, `Row ${rowNumber} has more or fewer cells than the header, so its cells cannot be corrected one by one`)
}

/** The returned function says whether a row is settled. Callers must pass ascending row numbers. */
const openSettled = (settled: Uint32Array) => {
  let at = 0
  return (row: number) => {
    while (at < settled.length && settled[at]! < row) at++
    return settled[at] === row
  }
}

type Edits = Map<string, string>
const addressOf = (row: number, column: string) => `${row} ${column}`

const editsOf = (cleaning: Cleaning): Edits =>
  new Map(
    cleaning.flatMap(step => (step.step === 'editCells' ? step.cells.map(({row, column, value}) => [addressOf(row, column), value]) : [])),
  )

type Compared = {columns: string[]; edits: Edits; isOver: boolean}

/**
 * Whether each cell equals the value to which it was edited before, or the cell of the run's file. An edited cell with the value of the run's
 * file is only the same in a settled row, whose edit cannot be taken back.
 */
const isSame = ({rowNumber, cells}: FileRow, corrected: string[], {columns, edits, isOver}: Compared) =>
  corrected.every((cell, at) => {
    const edit = edits.get(addressOf(rowNumber, columns[at]!))
    return cell === edit || (cell === cells[at] && (edit === undefined || isOver))
  })

type ChangedRows = {
  columns: string[]
  changed: {before: FileRow; after: FileRow}[]
  edits: Edits
  cleaning: Cleaning
  hasColumn(name: string): boolean
}

/**
 * Returns the changes of edited cells. A value that differs from the run's file and from an earlier edit becomes an edit. A value of the run's
 * file removes an earlier edit of the cell, and with it the edits of the cells that were split from it. Columns that the corrected file lacks
 * keep their edits. Values are compared after the steps that change single cells, because edits apply after these steps.
 */
const editedCells = async (deps: FileDeps, {columns, changed, edits, cleaning, hasColumn}: ChangedRows): Promise<CellChange[]> => {
  const steps = cleaning.filter(changesOneCell)
  const clean = async (rows: FileRow[]) => {
    const table: Table = {columns, rows: once(rows)}
    const done = cleaned(table, steps, {fileCharacters: deps.config.FILE_LIMIT_BYTES})
    return {columns: done.columns, rows: (await Array.fromAsync(done.rows)).flat()}
  }
  const before = await clean(changed.map(({before}) => before))
  const after = await clean(changed.map(({after}) => after))
  const isTakenBack = ({rowNumber, cells}: FileRow, at: number, column: string) => {
    const root = rootOf(steps, column)
    const place = after.columns.indexOf(root)
    return hasColumn(root) && edits.has(addressOf(rowNumber, root)) && cells[place] === before.rows[at]!.cells[place]
  }
  return after.rows.flatMap((row, at) =>
    after.columns.flatMap((column, place): CellChange[] => {
      const {rowNumber, cells} = row
      const value = cells[place] ?? ''
      const edit = edits.get(addressOf(rowNumber, column))
      if (value === edit) return []
      if (value !== before.rows[at]!.cells[place]) return [{row: rowNumber, column, value}]
      return edit !== undefined && isTakenBack(row, at, column) ? [{row: rowNumber, column, value: null}] : []
    }),
  )
}

async function* once(rows: FileRow[]): Table['rows'] {
  if (rows.length > 0) yield rows
}

/** Returns the column of the file from which a column was split. A column that was not split is its own root. */
const rootOf = (steps: Cleaning, column: string): string => {
  const made = steps.find(step => step.step === 'split' && step.into.includes(column))
  return made?.step === 'split' ? rootOf(steps, made.column) : column
}

const changesOneCell = ({step}: CleaningStep) => ['trim', 'collapseSpaces', 'replace', 'split'].includes(step)
