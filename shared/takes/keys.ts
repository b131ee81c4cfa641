import type {DiscoveredModule} from '../crm/discovered.ts'
import {matchKeyOf} from '../flows/match-key.ts'

/** Fields and their values, as the CRM has them. */
export type Keys = Record<string, unknown>

/** By what later rows meet the record: those of the named fields that the module has. Null for none, or where one of them is empty. */
export const keyOf = (keys: Keys, {fields}: DiscoveredModule): Buffer | null => {
  const named = fields.filter(({apiName}) => Object.hasOwn(keys, apiName))
  return named.length === 0
    ? null
    : matchKeyOf(
        named.map(({apiName}) => comparable(keys[apiName])),
        named,
      )
}

/** A link is compared by its id; nothing else that has parts can be compared. */
const comparable = (value: unknown) =>
  typeof value !== 'object' || (value && 'id' in value && typeof value.id === 'string') ? value : null
