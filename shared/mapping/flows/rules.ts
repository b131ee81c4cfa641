import type {Mapping} from './flow.ts'
import {fold} from './picklist.ts'
import type {Rules} from './value.ts'

const maps = new WeakMap<object, ReadonlyMap<string, string>>()

/**
 * Returns how a mapping's values are read. `reading` is the reading of the column; it is given if the values are the column's unchanged
 * cells.
 */
export const rulesOf = ({format, zone, picklist, map}: Mapping, reading?: Rules['reading']): Rules => ({
  reading,
  format: format ?? undefined,
  zone: zone ?? undefined,
  unlisted: picklist === 'pass' ? 'pass' : 'reject',
  map: picklist === 'map' && map ? wordsOf(map) : undefined,
})

const wordsOf = (map: Record<string, string>) => {
  const known = maps.get(map) ?? new Map(Object.entries(map).map(([word, value]) => [fold(word), value]))
  maps.set(map, known)
  return known
}
