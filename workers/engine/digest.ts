import {createHash} from 'node:crypto'
import {normalise} from '../../shared/flows/match-key.ts'
import type {Row, Track} from './row.ts'

/**
 * The payload's unique values as 16 bytes: a lost create can be told by its record only while they are the same. Null where the payload has
 * none. No value can be read back from it.
 */
export const witnessOf = (
  {uniqueFields}: Pick<Track, 'uniqueFields'>,
  {payload, witness}: Pick<Row, 'payload' | 'witness'>,
): Buffer | null => {
  if (!witness) return null
  const values = uniqueFields.map(field => [field.apiName, normalise(payload[field.apiName], field)]).filter(([, value]) => value !== null)
  return createHash('sha256').update(JSON.stringify(values.sort())).digest().subarray(0, 16)
}
