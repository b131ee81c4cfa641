import type {Source} from '../../../sql/sources.ts'
import {Refusal} from '../../errors.ts'
import {Choices, type ColumnReading, readingsOf} from '../../files/choices.ts'
import {cleaned} from '../../files/cleaning/clean.ts'
import {Cleaning, type CleaningStep} from '../../files/cleaning/cleaning.ts'
import {addressOf, type CellChange, type CellEdit, editsIn} from '../../files/cleaning/edit-cells.ts'
import type {CsvOptions} from '../../files/reader.ts'
import {describeMisfit, type FileRow, type Table} from '../../files/row.ts'
import {evidenceOf, type SourceEvidence} from '../../files/sources/evidence.ts'
import {fileGone} from '../../files/sources/read.ts'
import {type FileDeps, openFile} from '../../files/stored-file.ts'
import {openBadBytes} from '../../files/text/bad-bytes.ts'
import {textOf} from '../../files/xlsx/cell.ts'
import {StorageMissing} from '../../storage/missing.ts'
import {type CorrectedFile, openCorrectedRows, type TakenRow, unfit} from './corrected-rows.ts'

export type CorrectionsInput = {
  source: Pick<Source, 'id' | 'fileKey' | 'reader' | 'cleaning' | 'choices' | 'evidence' | 'rows'>
  corrected: CorrectedFile
  /** The rows that no retry writes, because their records are or may be written. In ascending order. */
  settled: Uint32Array
  /** The columns that identify rows if the corrected file has no row numbers, and more or fewer rows than the source. */
  keys: string[]
  /**
   * The cell edits that the uploaded file already contained when a person began to correct it. For a failed.csv, the edits of its run. Empty for
   * any other file, because its cells come from the run's file without edits.
   */
  before: CellEdit[]
  /** How the run of a failed.csv read the columns. Null for other files. */
  shownAs: Readings | null
}
type Readings = Record<string, ColumnReading>

/**
 * `cells`: the cells to edit, with the names that columns have after cleaning; the value null removes an edit. `rows`: the number of rows with at
 * least one of these cells. `kept`: the number of cells that a later edit changed and the corrected file did not.
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

const compare = async (deps: FileDeps, {source, corrected, settled, keys, before, shownAs}: CorrectionsInput): Promise<Corrections> => {
  const cleaning = Cleaning.parse(source.cleaning)
  const {columns: evidence} = evidenceOf(source)
  const readings = readingsOf(evidence, Choices.parse(source.choices))
  if (shownAs) assertReadAlike(evidence, shownAs, readings)
  const {fileColumns: columns, rows} = await openFile(deps, {...source, readings}, {bad: openBadBytes()})
  const edits = editsOf(editsIn(cleaning))
  const changed: {before: FileRow; after: FileRow}[] = []
  const takenBack = new Set<string>()
  let kept = 0
  try {
    const keepsQuotes = (source.reader as CsvOptions).openQuotes === 'keep'
    const found = await openCorrectedRows(deps, corrected, {id: source.id, columns, keys, rows: source.rows, readings, keepsQuotes})
    const isSettled = openSettled(settled)
    const shown = editsOf(before)
    const hasColumn = columns.map(found.hasColumn)
    for await (const chunk of rows) {
      for (const cleanedRow of chunk) {
        const row = {...cleanedRow, cells: cleanedRow.read ?? cleanedRow.cells}
        const sent = found.take(row)
        if (!sent) continue
        const isOver = isSettled(row.rowNumber)
        const {cells, isChanged, ...touched} = touchedCells(row, sent, {columns, hasColumn, shown, edits})
        if (isOver && !isChanged && touched.removed.length === 0) continue
        kept += touched.kept
        if (!isChanged && touched.removed.length === 0) continue
        assertCorrectable(row, isOver)
        for (const address of touched.removed) takenBack.add(address)
        changed.push({before: row, after: {...row, cells}})
      }
    }
    found.assertAllTaken()
    const cells = await editedCells(deps, {columns, changed, edits, takenBack, cleaning})
    return {cells, rows: new Set(cells.map(({row}) => row)).size, kept, matchedBy: found.matchedBy}
  } finally {
    await rows.return()
  }
}

/** Throws if a choice that was made after the run of a failed.csv changed how numbers are read. Unchanged numbers would otherwise become edits. */
const assertReadAlike = (columns: SourceEvidence['columns'], before: Readings, now: Readings) => {
  const textIn = (kind: 'percent' | 'padded' | 'scaled', reading?: ColumnReading) =>
    textOf({kind, text: 'displayed', stored: '', plain: 'stored'}, {numbers: 'stored', ...reading})
  const changed = columns.find(({name, stored}) =>
    (['percent', 'padded', 'scaled'] as const).some(kind => stored?.[kind] && textIn(kind, before[name]) !== textIn(kind, now[name])),
  )
  if (changed)
    throw new Refusal(
      'SNAPSHOT_CHANGED',
      `The numbers of "${changed.name}" are read differently than in the run of this failed.csv. Restore the choice, or retry the run and correct its new failed.csv`,
    )
}

const assertCorrectable = (row: FileRow, isSettled: boolean) => {
  const {rowNumber, ragged, struck} = row
  if (isSettled)
    throw unfit(
      rowNumber,
      `Row ${rowNumber} is already imported, but the corrected file has other values for it. Upload only the failed rows`,
    )
  if (ragged) throw unfit(rowNumber, `Row ${rowNumber} ${describeMisfit(row)}, so its cells cannot be corrected one by one`)
  if (struck !== undefined) throw unfit(rowNumber, `Row ${rowNumber} is excluded by the cleaning of the file. Change the cleaning first`)
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

const editsOf = (cells: CellEdit[]): Edits => new Map(cells.map(cell => [addressOf(cell), cell.value]))

type Compared = {columns: string[]; edits: Edits}
type Shown = Compared & {hasColumn: boolean[]; shown: Edits}

/**
 * Returns the cells of the run's file, with those that the person changed in the corrected file. `isChanged`: at least one of these differs from the
 * present edit. `removed`: addresses of edited cells whose value the person set back to that of the run's file. `kept`: the number of unchanged cells
 * that were edited since.
 */
const touchedCells = (
  {rowNumber: row, cells: raw}: FileRow,
  {cells: sent, assertValue}: TakenRow,
  {columns, hasColumn, shown, edits}: Shown,
) => {
  const [cells, removed] = [[...raw], [] as string[]]
  let [isChanged, kept] = [false, 0]
  for (const [at, column] of columns.entries()) {
    if (!hasColumn[at]) continue
    const address = addressOf({row, column})
    const edit = edits.get(address)
    const read = raw[at] ?? ''
    if (sent[at] === (shown.get(address) ?? read)) {
      if (edit !== undefined && edit !== sent[at]) kept++
    } else if (sent[at] === read) {
      if (edit !== undefined) removed.push(address)
    } else {
      assertValue(at)
      cells[at] = sent[at]!
      if (sent[at] !== edit) isChanged = true
    }
  }
  return {cells, isChanged, removed, kept}
}

type ChangedRows = Compared & {changed: {before: FileRow; after: FileRow}[]; takenBack: ReadonlySet<string>; cleaning: Cleaning}

/**
 * Returns the changes of edited cells: values that differ from the run's file and from an earlier edit, and the edits to remove. With the edit of a
 * cell, those of the cells that were split from it are removed. Values are compared after the steps that change single cells, because edits apply
 * after these steps.
 */
const editedCells = async (deps: FileDeps, {columns, changed, edits, takenBack, cleaning}: ChangedRows): Promise<CellChange[]> => {
  const steps = cleaning.filter(changesOneCell)
  const clean = async (rows: FileRow[]) => {
    const table: Table = {columns, rows: once(rows)}
    const done = cleaned(table, steps, {fileCharacters: deps.config.FILE_LIMIT_BYTES})
    return {columns: done.columns, rows: (await Array.fromAsync(done.rows)).flat()}
  }
  const before = await clean(changed.map(({before}) => before))
  const after = await clean(changed.map(({after}) => after))
  return after.rows.flatMap(({rowNumber, cells}, at) =>
    after.columns.flatMap((column, place): CellChange[] => {
      const value = cells[place] ?? ''
      const edit = edits.get(addressOf({row: rowNumber, column}))
      if (value === edit) return []
      if (value !== before.rows[at]!.cells[place]) return [{row: rowNumber, column, value}]
      const isRemoved = edit !== undefined && takenBack.has(addressOf({row: rowNumber, column: rootOf(steps, column)}))
      return isRemoved ? [{row: rowNumber, column, value: null}] : []
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
