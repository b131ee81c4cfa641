import {Flows} from '../flows/flow.ts'
import type {TemplateSlot} from '../templates/template.ts'
import type {AcceptedFile, ColumnShape} from './accepted-files.ts'
import {fewestAccepted, medianOf} from './breach.ts'
import {type ColumnExpectations, kindsOfType, type SourceContract} from './contract.ts'
import type {ColumnMeasure} from './measure.ts'

type ColumnType = NonNullable<ColumnExpectations['type']>
type ProposeInput = {
  slot: TemplateSlot
  /** The slot's accepted files, newest first. */
  files: readonly AcceptedFile[]
  /** The measured columns of the newest accepted file. Empty if the file is no longer stored. */
  measured: readonly ColumnMeasure[]
  /** The picklists that columns of the slot fill, by column. */
  picklists: ReadonlyMap<string, {module: string; field: string}>
}

/**
 * Proposes a contract that every accepted file meets. Uniqueness and picklists are proposed only if the newest file was measured and meets
 * them, because the stored shapes of earlier files contain no values.
 */
export const proposeSource = ({slot, files, measured, picklists}: ProposeInput): SourceContract => {
  const shapes = (name: string) => files.flatMap(({columns}) => columns.filter(column => column.name === name))
  const common = commonColumns(files)
  return {
    slot: slot.slot,
    columns: common.map(name => {
      const measure = measured.find(column => column.name === name)
      return {
        name,
        present: true,
        type: proposeType(shapes(name)),
        values: null,
        unique: mayBeUnique(shapes(name)) && measure?.repeated?.cells === 0 && measure.filled > 1,
        picklist: measure?.others?.cells === 0 && measure.filled > 0 ? (picklists.get(name) ?? null) : null,
        emptyShare: proposeEmptyShare(shapes(name)),
      }
    }),
    otherColumns: 'allow',
    rows: {least: null, most: null, change: proposeChange(files.map(({rows}) => rows))},
  }
}

export const commonColumns = (files: readonly AcceptedFile[]): string[] =>
  (files[0]?.columns ?? []).map(({name}) => name).filter(name => files.every(({columns}) => columns.some(column => column.name === name)))

/** Types from the narrowest to the widest. The first type that accepts every kind is proposed. */
const types = Object.keys(kindsOfType) as ColumnType[]

const proposeType = (shapes: readonly ColumnShape[]): ColumnType | null => {
  const kinds = [...new Set(shapes.flatMap(shape => shape.kinds))]
  if (kinds.length === 0) return null
  return types.find(type => kinds.every(kind => (kindsOfType[type] as readonly string[]).includes(kind))) ?? null
}

/** Whether the values of the column may be unique in every file. An estimated distinct count may be 10 % too low. */
export const mayBeUnique = (shapes: readonly ColumnShape[]): boolean =>
  shapes.length > 0 && shapes.every(({filled, distinct, exact}) => (exact ? distinct === filled : distinct >= filled * 0.9))

/** Added to the largest observed share of empty cells. Nothing is added for a column that had no empty cell in `fewestAccepted` files or more. */
const emptyMargin = 0.05

const proposeEmptyShare = (shapes: readonly ColumnShape[]): number | null => {
  const largest = Math.max(...shapes.map(({filled, empties}) => empties / Math.max(1, filled + empties)))
  if (largest === 0 && shapes.length >= fewestAccepted) return 0
  const share = Math.ceil((largest + emptyMargin) * 100) / 100
  return share >= 1 ? null : share
}

/** Proposes an allowed deviation from the median row count: twice the largest observed deviation, at least 0.5. */
const proposeChange = (rows: readonly number[]): number | null => {
  if (rows.length === 0) return null
  const median = Math.max(1, medianOf(rows))
  const largest = Math.max(...rows.map(count => Math.abs(count - median) / median))
  return Math.min(100, Math.max(0.5, Math.ceil(largest * 20) / 10))
}

/** Lists the fields that columns of the slot fill without a value map or an expression, each with its column. */
export const listPlainFields = (flows: readonly unknown[], slot: string): {column: string; module: string; field: string}[] =>
  Flows.parse(flows).flatMap(({sourceId, module, fields}) =>
    sourceId === slot
      ? fields.flatMap(({mode, source, transform, values, map, field}) =>
          mode === 'column' && source && !transform && !values && !map ? [{column: source, module, field}] : [],
        )
      : [],
  )
