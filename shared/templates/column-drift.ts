import {type Namespaces, parseExpression} from '../expressions/parse.ts'
import {expressionsOf, type Flow} from '../flows/flow.ts'
import {parentOf} from '../flows/subform.ts'
import type {Drift} from './drift.ts'
import type {Slot} from './template.ts'

type Place = {flows: Flow[]; namespaces: Namespaces}

/** How a file's columns differ from those that are expected. Columns are found by their names, so that order alone stops nothing. */
export const findColumnDrift = (slot: Slot, found: readonly string[] | undefined, {flows, namespaces}: Place): Drift[] => {
  if (!found) return []
  const [expected, there] = [new Set(slot.columns), new Set(found)]
  const isUsed = usedColumns(slot, flows, namespaces)
  const missing = [...expected].filter(name => !there.has(name))
  const added = [...there].filter(name => !expected.has(name))
  return [
    ...missing.map(column => tellMissing(slot, column, isUsed(column), added)),
    ...added.map(
      (column): Drift => ({
        ...at('column_new', slot, column),
        stops: false,
        message: `${slot.label} has a new column "${column}", which nothing reads`,
      }),
    ),
    ...moved(
      slot,
      [...expected].filter(name => there.has(name)),
      [...there].filter(name => expected.has(name)),
    ),
  ]
}

const at = (kind: Drift['kind'], {slot}: Slot, column: string) => ({kind, slot, column})

const tellMissing = (slot: Slot, column: string, stops: boolean, added: string[]): Drift => {
  const alike = added.find(name => fold(name) === fold(column))
  const hint = alike === undefined ? '' : `; "${alike}" may be the same`
  return {
    ...at('column_missing', slot, column),
    stops,
    message: `${slot.label} has no column "${column}"${stops ? '' : ', which nothing reads'}${hint}`,
  }
}

const fold = (name: string) =>
  name
    .normalize('NFKC')
    .replace(/[\s_-]+/g, '')
    .toLowerCase()

/** The first one that stands elsewhere among those that are there as before. */
const moved = (slot: Slot, before: string[], now: string[]): Drift[] => {
  const first = before.find((name, place) => now[place] !== name)
  return first === undefined
    ? []
    : [
        {
          ...at('column_moved', slot, first),
          stops: false,
          message: `The columns of ${slot.label} stand in another order, from "${first}" on`,
        },
      ]
}

/** Whether anything reads a column. An expression over the whole row reads them all. */
const usedColumns = ({slot, cleaning}: Slot, flows: Flow[], namespaces: Namespaces): ((column: string) => boolean) => {
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

/** What cannot be parsed may read anything. */
const readsOf = (source: string, namespaces: Namespaces): string[] | null => {
  const parsed = parseExpression(source, {namespaces})
  return parsed.ok ? parsed.parsed.fields : null
}
