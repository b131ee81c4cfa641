import type {Source} from '../../../sql/sources.ts'
import {type CellKind, lookOf, looks} from '../../files/cell-kind.ts'
import {Choices, readingsOf} from '../../files/choices.ts'
import {digestOfText, openRepeats, type Repeats} from '../../files/repeats.ts'
import type {FileRow} from '../../files/row.ts'
import {evidenceOf} from '../../files/sources/evidence.ts'
import {fileGone} from '../../files/sources/read.ts'
import {type FileDeps, openFile} from '../../files/stored-file.ts'
import {openBadBytes} from '../../files/text/bad-bytes.ts'
import {StorageMissing} from '../../storage/missing.ts'

export type CellCount = {cells: number; firstRow: number}

/** `values`: the allowed values, in any letter case if `anyCase`; null: any value is allowed. */
export type MeasuredColumn = {name: string; unique: boolean; values: string[] | null; anyCase: boolean}
export type MeasureInput = {
  source: Pick<Source, 'fileKey' | 'reader' | 'cleaning' | 'choices' | 'evidence' | 'rows'>
  columns: MeasuredColumn[]
}

/**
 * `repeated`: cells whose value an earlier row has; null unless uniqueness was measured. `others`: cells whose value is not allowed; null if any
 * value is allowed.
 */
export type ColumnMeasure = {
  name: string
  filled: number
  empties: number
  firstEmpty: number | null
  kinds: Partial<Record<CellKind, CellCount>>
  repeated: CellCount | null
  others: CellCount | null
}
/**
 * `names`: all column names after cleaning. `fileColumns`: the names without columns that cleaning added. `columns`: the requested columns that the
 * file has.
 */
export type FileMeasure = {rows: number; names: string[]; fileColumns: string[]; columns: ColumnMeasure[]}

/**
 * Measures a file in one pass with bounded memory. Repeated values are found by digests on disk, among the first 50,000,000 cells. Leaves out rows
 * that cleaning excluded. The counts of columns also leave out ragged rows.
 */
export const measureFile = async (deps: FileDeps, input: MeasureInput): Promise<FileMeasure> => {
  try {
    return await measure(deps, input)
  } catch (error) {
    throw error instanceof StorageMissing ? fileGone() : error
  }
}

const measure = async (deps: FileDeps, {source, columns: wanted}: MeasureInput): Promise<FileMeasure> => {
  const readings = readingsOf(evidenceOf(source).columns, Choices.parse(source.choices))
  const {columns: names, fileColumns, rows} = await openFile(deps, {...source, readings}, {bad: openBadBytes()})
  const places = new Map(names.map((name, at) => [name, at]))
  const present = wanted.filter(({name}) => places.has(name))
  const repeats = openRepeats(Math.max(1, source.rows * present.filter(({unique}) => unique).length))
  const columns = present.map((column, group) => openColumn(column, {at: places.get(column.name)!, group, repeats}))
  try {
    let count = 0
    for await (const chunk of rows) {
      const kept = chunk.filter(({struck}) => struck === undefined)
      count += kept.length
      const whole = kept.filter(({ragged}) => !ragged)
      for (const column of columns) column.add(whole)
      await repeats.spill()
    }
    const repeated = await countRepeats(repeats)
    return {rows: count, names, fileColumns, columns: columns.map((column, group) => column.end(repeated.get(group) ?? noCells))}
  } finally {
    await rows.return()
    await repeats.close()
  }
}

const noCells: CellCount = {cells: 0, firstRow: 0}

const countRepeats = async (repeats: Repeats): Promise<Map<number, CellCount>> => {
  const found = new Map<number, CellCount>()
  for await (const {row, slot: group} of repeats.find()) {
    const before = found.get(group)
    found.set(group, {cells: (before?.cells ?? 0) + 1, firstRow: Math.min(before?.firstRow ?? row, row)})
  }
  return found
}

type ColumnPlace = {at: number; group: number; repeats: Repeats}

const openColumn = ({name, unique, values, anyCase}: MeasuredColumn, {at, group, repeats}: ColumnPlace) => {
  const keyOf = (value: string) => (anyCase ? value.trim().toLowerCase() : value.trim())
  const allowed = values && new Set(values.map(keyOf))
  const kinds: ColumnMeasure['kinds'] = {}
  let others: CellCount = noCells
  let [filled, empties, firstEmpty] = [0, 0, null as number | null]
  const add = (rows: FileRow[]) => {
    for (const {cells, rowNumber: row} of rows) {
      const value = (cells[at] ?? '').trim()
      if (value === '') {
        empties++
        firstEmpty ??= row
        continue
      }
      filled++
      const {kind} = looks[lookOf(value)]!
      kinds[kind] = counted(kinds[kind] ?? noCells, row)
      if (allowed && !allowed.has(keyOf(value))) others = counted(others, row)
      if (!unique) continue
      const digest = digestOfText(value)
      repeats.add({group, slot: group, row, digest, identity: digest})
    }
  }
  const end = (repeated: CellCount): ColumnMeasure => ({
    name,
    filled,
    empties,
    firstEmpty,
    kinds,
    repeated: unique ? repeated : null,
    others: allowed && others,
  })
  return {add, end}
}

const counted = ({cells, firstRow}: CellCount, row: number): CellCount => ({cells: cells + 1, firstRow: cells === 0 ? row : firstRow})
