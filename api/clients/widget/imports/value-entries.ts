import type {CheckProblem, Imported, Mapping, ValueEntry} from './import.ts'

/** A distinct value of a column with a proposed option, as the API returns it. */
export type ColumnValue = {value: string; count: number; option: boolean | null; suggestion: {to: string} | null}
export type ColumnValues = {values: ColumnValue[]; more: boolean; complete: boolean}

/** A value to show in the editor of a value map. `count` is null if the value does not occur in the column. */
export type ShownValue = {from: string; to: string | null; count: number | null; suggestion: string | null}

/**
 * Returns the entries of a mapping, or null if it has no value map. Mappings of earlier versions have the property `map` instead of `values`.
 */
export const entriesOf = ({values, picklist, map}: Mapping): ValueEntry[] | null =>
  values ?? (picklist === 'map' ? Object.entries(map ?? {}).map(([from, to]) => ({from, to})) : null)

/** Returns the column whose cells the mapping writes unchanged. Null if the mapping has another mode, an expression or a value map. */
export const columnAsItIs = (mapping: Mapping | undefined): string | null =>
  mapping?.mode === 'column' && !mapping.transform && entriesOf(mapping) === null ? (mapping.source ?? null) : null

/** Returns the changes of a mapping that set these entries. If `entries` is null, the changes remove the value map. */
export const withEntries = ({picklist, otherwise}: Mapping, entries: ValueEntry[] | null): Partial<Mapping> => ({
  values: entries,
  map: null,
  ...(picklist === 'map' && {picklist: null}),
  otherwise: entries ? (otherwise ?? null) : null,
})

/** Sets, replaces or removes (`to` is null) the entry of a value. */
export const putEntry = (entries: readonly ValueEntry[], from: string, to: string | null): ValueEntry[] => {
  const at = positionOf(entries, from)
  if (to === null) return at < 0 ? [...entries] : entries.toSpliced(at, 1)
  return at < 0 ? [...entries, {from, to}] : entries.with(at, {from: entries[at]!.from, to})
}

/** Adds an entry with an empty target. An existing entry is kept. */
export const addEntry = (entries: readonly ValueEntry[], from: string): ValueEntry[] =>
  isMapped(entries, from) ? [...entries] : putEntry(entries, from, '')

export const addSuggestions = (entries: readonly ValueEntry[], values: readonly ColumnValue[]): ValueEntry[] => [
  ...entries,
  ...values.flatMap(({value, suggestion}) => (suggestion && !isMapped(entries, value) ? [{from: value, to: suggestion.to}] : [])),
]

/** Lists the values of the column, except options without an entry. Entries whose value does not occur in the column follow. */
export const listShown = (entries: readonly ValueEntry[], values: readonly ColumnValue[]): ShownValue[] => {
  const found = new Map(values.map(({value}) => [fold(value), true]))
  const toOf = (value: string) => entries.find(({from}) => fold(from) === fold(value))?.to ?? null
  return [
    ...values
      .filter(({value, option}) => !option || isMapped(entries, value))
      .map(({value, count, suggestion}) => ({from: value, to: toOf(value), count, suggestion: suggestion?.to ?? null})),
    ...entries.filter(({from}) => !found.has(fold(from))).map(({from, to}) => ({from, to, count: null, suggestion: null})),
  ]
}

/** Limits the number of values without an entry to `mostOpen`. Values with an entry always stay. */
export const limitShown = (shown: readonly ShownValue[], mostOpen: number): {shown: ShownValue[]; isCut: boolean} => {
  const open = shown.filter(({to}) => to === null)
  const cut = new Set(open.slice(mostOpen))
  return {shown: shown.filter(one => !cut.has(one)), isCut: cut.size > 0}
}

/** Returns the position of a value's entry, or -1. The path of an issue contains the same position. */
export const positionOf = (entries: readonly ValueEntry[], from: string): number =>
  entries.findIndex(entry => fold(entry.from) === fold(from))

const isMapped = (entries: readonly ValueEntry[], value: string) => positionOf(entries, value) >= 0

/** Returns the form in which values are compared. Texts from macOS may be decomposed: their `Ö` is an `O` and a diaeresis. */
export const fold = (text: string) => text.normalize('NFC').trim().toLowerCase()

type FlowsOf = Pick<Imported, 'flows'>

/** Returns the flow and the mapping that a problem concerns. */
export const findMapping = ({flows}: FlowsOf, problem: CheckProblem) => {
  const flow = flows.find(({id}) => id === problem.flow)
  return {flow, mapping: flow?.fields.find(({field}) => field === problem.field)}
}

/** Returns the problems that a value map can fix: the first of each field, because the value map of a field fixes its other problems too. */
export const listFixableProblems = (found: FlowsOf, problems: CheckProblem[]): CheckProblem[] => {
  const fixable = problems.filter(problem => canFixValues(found, problem))
  return fixable.filter(({flow, field}, at) => fixable.findIndex(one => one.flow === flow && one.field === field) === at)
}

/** Whether a value map can fix the problem. The problem must concern unknown values, and a column without an expression must fill the field. */
const canFixValues = (found: FlowsOf, problem: CheckProblem): boolean => {
  const {mapping} = findMapping(found, problem)
  return ['not_in_picklist', 'value_unmapped'].includes(problem.kind) && mapping?.mode === 'column' && !mapping.transform
}
