import type {Mapping, ValueEntry} from './import.ts'

/** A distinct value of a column with a proposed option, as the API returns it. */
export type ColumnValue = {value: string; count: number; option: boolean | null; suggestion: {to: string} | null}
export type ColumnValues = {values: ColumnValue[]; more: boolean; complete: boolean}

/** A value to show in the editor of a value map. `count` is null if the value does not occur in the column. */
export type ShownValue = {from: string; to: string | null; count: number | null; suggestion: string | null}

/** Returns the entries of a mapping, or null if it has no value map. A mapping of an earlier version has a map of words. */
export const entriesOf = ({values, picklist, map}: Mapping): ValueEntry[] | null =>
  values ?? (picklist === 'map' ? Object.entries(map ?? {}).map(([from, to]) => ({from, to})) : null)

/** Returns the column whose cells the mapping writes as they are. Null if an expression, a value map or a lookup changes them. */
export const columnAsItIs = (mapping: Mapping | undefined): string | null =>
  mapping?.mode === 'column' && !mapping.transform && entriesOf(mapping) === null ? (mapping.source ?? null) : null

/** Returns the change of a mapping that gives it these entries. Null removes the value map. */
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

/** Adds an entry with an empty target. An entry that exists is kept. */
export const addEntry = (entries: readonly ValueEntry[], from: string): ValueEntry[] =>
  isMapped(entries, from) ? [...entries] : putEntry(entries, from, '')

/** Adds the proposed option of each value that has no entry. */
export const addSuggestions = (entries: readonly ValueEntry[], values: readonly ColumnValue[]): ValueEntry[] => [
  ...entries,
  ...values.flatMap(({value, suggestion}) => (suggestion && !isMapped(entries, value) ? [{from: value, to: suggestion.to}] : [])),
]

/** Lists the values of the column that need an entry or have one, then the entries of other values. */
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

/** Leaves out values without an entry beyond the limit. A value with an entry always stays. */
export const limitShown = (shown: readonly ShownValue[], mostOpen: number): {shown: ShownValue[]; isCut: boolean} => {
  const open = shown.filter(({to}) => to === null)
  const cut = new Set(open.slice(mostOpen))
  return {shown: shown.filter(one => !cut.has(one)), isCut: cut.size > 0}
}

/** Returns the position of a value's entry, which is its position in an issue's path. */
export const positionOf = (entries: readonly ValueEntry[], from: string): number =>
  entries.findIndex(entry => fold(entry.from) === fold(from))

const isMapped = (entries: readonly ValueEntry[], value: string) => positionOf(entries, value) >= 0
const fold = (text: string) => text.trim().toLowerCase()
