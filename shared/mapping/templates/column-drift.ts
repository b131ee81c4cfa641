import {type Namespaces, parseExpression} from '../../expressions/parse.ts'
import {expressionsOf, type Flow} from '../flows/flow.ts'
import {parentOf} from '../flows/subform.ts'
import type {Drift} from './drift.ts'
import type {TemplateSlot} from './template.ts'

type ColumnPlace = {flows: Flow[]; namespaces: Namespaces}

/** Lists the differences between a slot's columns and a file's. A different order does not stop a run, because columns are found by name. */
export const findColumnDrift = (slot: TemplateSlot, found: readonly string[] | undefined, {flows, namespaces}: ColumnPlace): Drift[] => {
  if (!found) return []
  const [expected, there] = [new Set(slot.columns), new Set(found)]
  const isUsed = usedColumns(slot, flows, namespaces)
  const missing = [...expected].filter(name => !there.has(name))
  const added = [...there].filter(name => !expected.has(name))
  return [
    ...missing.map(column => describeMissing(slot, column, isUsed(column), added)),
    ...added.map(
      (column): Drift => ({
        ...columnPlaceOf('column_new', slot, column),
        stops: false,
        message: `${slot.label} has a new column "${column}", which is not used`,
      }),
    ),
    ...moved(
      slot,
      [...expected].filter(name => there.has(name)),
      [...there].filter(name => expected.has(name)),
    ),
  ]
}

const columnPlaceOf = (kind: Drift['kind'], {slot}: TemplateSlot, column: string) => ({kind, slot, column})

const describeMissing = (slot: TemplateSlot, column: string, stops: boolean, added: string[]): Drift => {
  const alike = added.find(name => fold(name) === fold(column))
  const hint = alike === undefined ? '' : `; "${alike}" may be the same`
  return {
    ...columnPlaceOf('column_missing', slot, column),
    stops,
    message: `${slot.label} has no column "${column}"${stops ? '' : ', which is not used'}${hint}`,
  }
}

const fold = (name: string) =>
  name
    .normalize('NFKC')
    .replace(/[\s_-]+/g, '')
    .toLowerCase()

/** Reports the first column in another position. Compares only columns that both lists have. */
const moved = (slot: TemplateSlot, before: string[], now: string[]): Drift[] => {
  const first = before.find((name, place) => now[place] !== name)
  return first === undefined
    ? []
    : [
        {
          ...columnPlaceOf('column_moved', slot, first),
          stops: false,
          message: `The columns of ${slot.label} are in another order, beginning with "${first}"`,
        },
      ]
}

/** The returned function says whether a column is used. An expression that reads the whole row uses all columns. */
const usedColumns = ({slot, cleaning}: TemplateSlot, flows: Flow[], namespaces: Namespaces): ((column: string) => boolean) => {
  const own = flows.filter(({sourceId}) => sourceId === slot)
  const reads = [
    ...own.flatMap(expressionsOf).map(source => readsOf(source, namespaces)),
    ...cleaning.flatMap(step => (step.step === 'strikeWhere' ? [readsOf(step.expression, {})] : [])),
  ]
  const used = new Set([
    ...own.flatMap(flow => [
      ...flow.fields.flatMap(({mode, source}) => (mode === 'skip' || mode === 'static' ? [] : [source])),
      parentOf(flow)?.key?.childColumn,
    ]),
    ...flows.map(parentOf).flatMap(parent => (own.some(({id}) => id === parent?.flow) ? [parent?.key?.parentColumn] : [])),
    ...cleaning.flatMap(step => (step.step === 'split' ? [step.column] : 'columns' in step ? (step.columns ?? []) : [])),
    ...reads.flatMap(fields => fields ?? []),
  ])
  return column => used.has(column) || reads.includes(null)
}

/** Null: the expression may read any column. An expression that cannot be parsed also gives null. */
const readsOf = (source: string, namespaces: Namespaces): string[] | null => {
  const parsed = parseExpression(source, {namespaces})
  return parsed.ok ? parsed.parsed.fields : null
}
