import {normalise} from '../../shared/flows/match-key.ts'
import {shortHash} from '../../shared/short-hash.ts'
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
  return shortHash(JSON.stringify(values.sort()))
}

/**
 * What a lost create may be told by, as 16 bytes: its unique values, or else all that was sent. A row may be sent again, or compared with the
 * CRM's records, only while it is the same.
 */
export const sentDigestOf = (track: Pick<Track, 'uniqueFields'>, row: Pick<Row, 'payload' | 'witness'>): Buffer =>
  witnessOf(track, row) ?? payloadDigestOf(row)

/** Of the fields in whatever order. Rows of one payload have one digest. */
const payloadDigestOf = ({payload}: Pick<Row, 'payload'>): Buffer => shortHash(JSON.stringify(Object.entries(payload).sort(byName)))

const byName = ([one]: [string, unknown], [other]: [string, unknown]) => (one < other ? -1 : 1)
