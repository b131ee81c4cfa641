import {normalise} from '../../../shared/mapping/flows/match-key.ts'
import {shortHash} from '../../../shared/security/short-hash.ts'
import type {CompiledFlow, ImportRow} from '../model.ts'

type UniqueKeyRow = Pick<ImportRow, 'payload' | 'hasUniqueKey' | 'idempotency'>

/**
 * Returns a 16-byte digest of the unique values that a create sends, the idempotency value included. Null if it sends none. A lost create can
 * be found by these values only while they are unchanged. The digest does not reveal the values.
 */
export const uniqueKeyDigestOf = (
  {uniqueFields}: Pick<CompiledFlow, 'uniqueFields'>,
  {payload, hasUniqueKey, idempotency}: UniqueKeyRow,
): Buffer | null => {
  if (!hasUniqueKey) return null
  let values: [string, string][] = []
  for (const field of uniqueFields) {
    const value = normalise(payload[field.apiName], field)
    if (value !== null) values = [...values, [field.apiName, value]]
  }
  if (idempotency) values.push([idempotency.field, idempotency.value])
  return shortHash(JSON.stringify(values.sort()))
}

/**
 * Returns a 16-byte digest that identifies a lost create: of its unique values, or else of the whole payload. If the digest of the row
 * changed, the row must not be sent again or compared with the CRM's records.
 */
export const sentDigestOf = (flow: Pick<CompiledFlow, 'uniqueFields'>, row: UniqueKeyRow): Buffer =>
  uniqueKeyDigestOf(flow, row) ?? payloadDigestOf(row)

const payloadDigestOf = ({payload}: Pick<ImportRow, 'payload'>): Buffer => shortHash(JSON.stringify(Object.entries(payload).sort(byName)))

const byName = ([one]: [string, unknown], [other]: [string, unknown]) => (one < other ? -1 : 1)
