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
 * `cells`: the cells to edit, with the names that columns have after cleaning. `rows`: the number of rows with at least one of these cells. `kept`:
 * the number of cells that keep an earlier edit, although the corrected file has the value of the run's file.
 */
export type Corrections = {cells: CellChange[]; rows: number; kept: number; matchedBy: 'row' | 'order' | 'key'}

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
  let kept = 0
  try {
    const found = await openCorrectedRows(deps, corrected, {id: source.id, columns, keys, rows: source.rows, readings})
    const isSettled = openSettled(settled)
    // The rows have the run's cells in the columns that the corrected file lacks.
    const corrects = columns.map(column => (found.hasColumn(column) ? column : null))
    for await (const chunk of rows) {
      for (const row of chunk) {
        const cells = found.take(row)
        if (!cells) continue
        const isOver = isSettled(row.rowNumber)
        if (!isOver) kept += countKept(row, cells, {columns: corrects, edits})
        if (isSame(row, cells, {columns, edits})) continue
        assertCorrectable(row, isOver)
        changed.push({before: row, after: {...row, cells}})
      }
    }
    found.assertAllTaken()
    const cells = await editedCells(deps, {columns, changed, edits, cleaning})
    return {cells, rows: new Set(cells.map(({row}) => row)).size, kept, matchedBy: found.matchedBy}
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

type Compared<C> = {columns: C[]; edits: Edits}

/** Whether each cell equals the cell of the run's file, or the value to which the cell was edited before. */
const isSame = ({rowNumber, cells}: FileRow, corrected: string[], {columns, edits}: Compared<string>) =>
  corrected.every((cell, at) => cell === cells[at] || cell === edits.get(addressOf(rowNumber, columns[at]!)))

const countKept = ({rowNumber, cells}: FileRow, corrected: string[], {columns, edits}: Compared<string | null>) =>
  columns.filter((column, at) => {
    const edit = column === null ? undefined : edits.get(addressOf(rowNumber, column))
    return edit !== undefined && corrected[at] === cells[at] && corrected[at] !== edit
  }).length

type ChangedRows = {columns: string[]; changed: {before: FileRow; after: FileRow}[]; edits: Edits; cleaning: Cleaning}

/**
 * Returns the corrected cells that must be edited: those whose value differs from the run's file and from an earlier edit of the cell. Values
 * are compared after the steps that change single cells, because edits apply after these steps.
 */
const editedCells = async (deps: FileDeps, {columns, changed, edits, cleaning}: ChangedRows): Promise<CellChange[]> => {
  const steps = cleaning.filter(changesOneCell)
  const clean = async (rows: FileRow[]) => {
    const table: Table = {columns, rows: once(rows)}
    const done = cleaned(table, steps, {fileCharacters: deps.config.FILE_LIMIT_BYTES})
    return {columns: done.columns, rows: (await Array.fromAsync(done.rows)).flat()}
  }
  const before = await clean(changed.map(({before}) => before))
  const after = await clean(changed.map(({after}) => after))
  return after.rows.flatMap(({rowNumber, cells}, at) =>
    after.columns.flatMap((column, place) => {
      const value = cells[place] ?? ''
      const isUnchanged = value === before.rows[at]!.cells[place] || value === edits.get(addressOf(rowNumber, column))
      return isUnchanged ? [] : [{row: rowNumber, column, value}]
    }),
  )
}

async function* once(rows: FileRow[]): Table['rows'] {
  if (rows.length > 0) yield rows
}

const changesOneCell = ({step}: CleaningStep) => ['trim', 'collapseSpaces', 'replace', 'split'].includes(step)
