import type {DiscoveredModule} from '../../crm/discovered.ts'
import {matchKeyOf} from '../../mapping/flows/match-key.ts'

export type Keys = Record<string, unknown>

/**
 * Returns the match key by which later rows find the record, made of those `keys` that are fields of the module. Null if there are none or
 * one is empty.
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

/** Returns the comparable part of a value: the id of a lookup value, null for any other object, else the value. */
const comparable = (value: unknown) =>
  typeof value !== 'object' || (value && 'id' in value && typeof value.id === 'string') ? value : null
