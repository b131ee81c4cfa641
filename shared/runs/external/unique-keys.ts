import {normalise} from '../../mapping/flows/match-key.ts'
import type {FieldShape} from '../../mapping/flows/value.ts'
import {shortHash} from '../../security/short-hash.ts'

type UniqueField = Pick<FieldShape, 'apiName' | 'type'> & Partial<FieldShape>

/**
 * Returns a 16-byte digest for each unique value that a create sends. The CRM refuses a second create with one of these values. The digests have no
 * key, so a guessed value can be confirmed. `idempotency`: the name and value of the idempotency field.
 */
export const digestUniqueKeys = (
  payload: Record<string, unknown>,
  fields: readonly UniqueField[],
  idempotency: [string, string] | null,
): Buffer => {
  const values = fields.map((field): [string, string | null] => [field.apiName, normalise(payload[field.apiName], field)])
  const sent = idempotency ? [...values, idempotency] : values
  return Buffer.concat(sent.flatMap(([name, value]) => (value === null ? [] : [shortHash(JSON.stringify([[name, value]]))])))
}

/** `digests`: from `digestUniqueKeys`. Null: an earlier build stored none. */
type UniqueValueDigests = {hasUniqueKey: boolean; digests: Buffer | null}

type BatchUniqueKeys = {hasUniqueKeys: boolean[]; digests: Buffer[] | null}

/**
 * Returns the unique keys of the row `at` of a batch. If earlier creates of the row were unanswered, returns only the keys that all creates share.
 */
export const uniqueKeysOf = (
  {hasUniqueKeys, digests}: BatchUniqueKeys,
  at: number,
  rowState: UniqueValueDigests & {creates: number},
): UniqueValueDigests => {
  const sent = {hasUniqueKey: hasUniqueKeys[at]!, digests: digests?.[at] ?? null}
  return rowState.creates > 0 ? intersect(rowState, sent) : sent
}

const intersect = (one: UniqueValueDigests, other: UniqueValueDigests): UniqueValueDigests => {
  if (!one.hasUniqueKey || !other.hasUniqueKey) return {hasUniqueKey: false, digests: Buffer.alloc(0)}
  if (!one.digests || !other.digests) return {hasUniqueKey: true, digests: one.digests ?? other.digests}
  const known = new Set(split(other.digests))
  const digests = Buffer.from(
    split(one.digests)
      .filter(digest => known.has(digest))
      .join(''),
    'hex',
  )
  return {hasUniqueKey: digests.length > 0, digests}
}

const split = (digests: Buffer): string[] => digests.toString('hex').match(/.{32}/g) ?? []
