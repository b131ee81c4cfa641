import type {DiscoveredModule} from '../../crm/discovered.ts'
import {matchKeyOf} from '../../mapping/flows/match-key.ts'

export type Keys = Record<string, unknown>

/**
 * Returns the match key by which later rows find the record. It uses the named fields that the module has. Returns null if there are none
 * or one is empty.
 */
export const keyOf = (keys: Keys, {fields}: DiscoveredModule): Buffer | null => {
  const named = fields.filter(({apiName}) => Object.hasOwn(keys, apiName))
  return named.length === 0
    ? null
    : matchKeyOf(
        named.map(({apiName}) => comparable(keys[apiName])),
        named,
      )
}

/** Returns the part of a value that can be compared: the id of a lookup value. Other objects cannot be compared. */
const comparable = (value: unknown) =>
  typeof value !== 'object' || (value && 'id' in value && typeof value.id === 'string') ? value : null
