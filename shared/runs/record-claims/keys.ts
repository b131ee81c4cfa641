import type {DiscoveredModule} from '../../crm/discovered.ts'
import {matchKeyOf} from '../../mapping/flows/match-key.ts'

export type Keys = Record<string, unknown>

/**
 * Returns the match key by which later rows find the record, from the `keys` that are fields of the module. Null if no key is a field of the module,
 * or if a value is empty or cannot be compared.
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

/** Texts, numbers, booleans and lookup values can be compared. Returns null for any other value. */
const comparable = (value: unknown) =>
  typeof value !== 'object' || (value && 'id' in value && typeof value.id === 'string') ? value : null
