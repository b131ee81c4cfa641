import type {Mapping} from './flow.ts'
import {findChoice, fold, listIn} from './picklist.ts'
import {CLEAR, convert, type FieldShape, LISTS} from './value.ts'

type Otherwise = 'keep' | 'empty' | 'fail'
/** `entries`: the new values by the value that they replace, trimmed and in lower case. */
export type ValueMap = {entries: ReadonlyMap<string, string>; otherwise: Otherwise}

/**
 * `isMapped`: an entry replaced the value or a part of it, so the result is not read as a cell of the column. `isUnmapped`: the value or a part of it
 * has no entry and is no option of the field.
 */
export type MappedValue = {value: unknown; isMapped?: boolean; isUnmapped?: boolean}

/** A stored flow may have the older form of a value map, `picklist: map`. */
export const valueMapOf = ({values, otherwise, picklist, map}: Mapping): ValueMap | undefined => {
  const pairs = values?.map(({from, to}) => [from, to] as const) ?? (picklist === 'map' && map ? Object.entries(map) : null)
  return pairs ? {entries: new Map(pairs.map(([from, to]) => [fold(from), to])), otherwise: otherwise ?? 'keep'} : undefined
}

/**
 * Replaces a value by its entry. Blank values and the clear token are not replaced. An option of the field needs no entry. In a field with
 * several values, each value is replaced on its own.
 */
export const mapValue = (value: unknown, field: FieldShape, map: ValueMap): MappedValue => {
  if (LISTS.has(field.type)) return mapParts(value, field, map)
  if (typeof value === 'object' || value === undefined) return {value}
  const text = String(value)
  if (text.trim() === '' || text === CLEAR) return {value}
  const to = map.entries.get(fold(text))
  if (to !== undefined) return {value: to, isMapped: true}
  if (isOption(text, field)) return {value}
  return {value: map.otherwise === 'empty' ? '' : value, isUnmapped: true}
}

const mapParts = (value: unknown, field: FieldShape, {entries, otherwise}: ValueMap): MappedValue => {
  const parts = partsOf(value).filter(part => part.trim() !== '')
  if (parts.length === 0) return {value}
  let [isMapped, isUnmapped] = [false, false]
  const mapped = parts.flatMap(part => {
    const to = entries.get(fold(part))
    if (to !== undefined) {
      isMapped = true
      return listIn(to).filter(one => one.trim() !== '')
    }
    if (isOption(part, field)) return [part]
    isUnmapped = true
    return otherwise === 'empty' ? [] : [part]
  })
  if (!isMapped && !isUnmapped) return {value}
  return {value: mapped.length ? JSON.stringify(mapped) : '', isMapped, isUnmapped}
}

const partsOf = (value: unknown): string[] => {
  if (Array.isArray(value)) return value.every(part => typeof part === 'string') ? value : []
  if (typeof value === 'number' || typeof value === 'boolean') return [String(value)]
  return typeof value === 'string' && value !== CLEAR ? listIn(value) : []
}

/** Whether a field with a fixed set of values accepts the text as it is, without an entry in the value map. */
export const isOption = (text: string, field: FieldShape): boolean =>
  field.type === 'boolean' ? convert(text, field).ok : field.picklist.length > 0 && findChoice(text.trim(), field) !== undefined

/**
 * Splits a cell into the values to which a value map applies: the whole text, or each part in a field with several values. Empty for a blank
 * cell and for the clear token.
 */
export const valuesIn = (cell: string, field: Pick<FieldShape, 'type'> | null): string[] =>
  cell.trim() === '' || cell === CLEAR ? [] : field && LISTS.has(field.type) ? listIn(cell).filter(part => part.trim() !== '') : [cell]
