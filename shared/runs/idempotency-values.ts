import {createHmac, randomBytes} from 'node:crypto'
import type {Pool} from '../../sql/database.ts'
import {findChainId, findIdempotencyKey, keepIdempotencyKey} from '../../sql/idempotency.ts'
import {base32} from '../ids.ts'
import {type KeyRing, open, seal} from '../security/secrets.ts'

/**
 * Returns the idempotency value of a row: 26 characters. The value differs for each module, row and retry chain, and is equal in every run
 * of the chain.
 */
export type IdempotencyValueOf = (module: string, rowKey: string) => string

type ValuesInput = {org: string; run: string}

/** For the dry run of a retry, pass the run that would be retried, because a dry run joins no chain. */
export const openIdempotencyValues = async (
  {db, ring}: {db: Pool; ring: KeyRing},
  {org, run}: ValuesInput,
): Promise<IdempotencyValueOf> => {
  const [key, chain] = await Promise.all([readKey({db, ring}, org), findChainId(db, {org, run})])
  return (module, rowKey) => deriveValue(key, {chain, module, rowKey})
}

/** Derives a value from the first 16 bytes of an HMAC, so the value reveals neither the key nor the row. */
export const deriveValue = (key: Buffer, {chain, module, rowKey}: {chain: string; module: string; rowKey: string}): string =>
  base32(
    createHmac('sha256', key)
      .update(JSON.stringify([chain, module, rowKey]))
      .digest()
      .subarray(0, 16),
  )

/** Creates the key if the org has none. Concurrent creators get the same key. */
const readKey = async ({db, ring}: {db: Pool; ring: KeyRing}, org: string): Promise<Buffer> => {
  const sealed =
    (await findIdempotencyKey(db, org)) ??
    (await keepIdempotencyKey(db, {org, sealed: seal(ring, randomBytes(32).toString('base64url'), sealedAs(org))}))
  return Buffer.from(open(ring, sealed, sealedAs(org)), 'base64url')
}

/** Returns the context to which an org's sealed key is bound. */
export const sealedAs = (org: string) => `${org} idempotency`
