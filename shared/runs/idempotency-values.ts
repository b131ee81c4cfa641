import {createHmac, randomBytes} from 'node:crypto'
import type {Pool} from '../../sql/database.ts'
import {findChainId, findIdempotencyKey, keepIdempotencyKey} from '../../sql/idempotency.ts'
import {base32} from '../ids.ts'
import {type KeyRing, open, seal} from '../security/secrets.ts'

/** Returns the idempotency value of a row: 26 characters that differ for each module, row and chain, and that every run of the chain repeats. */
export type IdempotencyValueOf = (module: string, rowKey: string) => string

type ValuesInput = {org: string; run: string}

/** Opens the idempotency values of a run's chain. A dry run of a retry starts a separate chain, so it passes the run that it would retry. */
export const openIdempotencyValues = async (
  {db, ring}: {db: Pool; ring: KeyRing},
  {org, run}: ValuesInput,
): Promise<IdempotencyValueOf> => {
  const [key, chain] = await Promise.all([readKey({db, ring}, org), findChainId(db, {org, run})])
  return (module, rowKey) => deriveValue(key, {chain, module, rowKey})
}

/** Derives a value from the first 16 bytes of an HMAC. A value reveals neither the key nor the row. */
export const deriveValue = (key: Buffer, {chain, module, rowKey}: {chain: string; module: string; rowKey: string}): string =>
  base32(
    createHmac('sha256', key)
      .update(JSON.stringify([chain, module, rowKey]))
      .digest()
      .subarray(0, 16),
  )

/** Reads the org's key, and makes it when the org needs it first. Processes that make it at once agree on one. */
const readKey = async ({db, ring}: {db: Pool; ring: KeyRing}, org: string): Promise<Buffer> => {
  const sealed =
    (await findIdempotencyKey(db, org)) ??
    (await keepIdempotencyKey(db, {org, sealed: seal(ring, randomBytes(32).toString('base64url'), sealedAs(org))}))
  return Buffer.from(open(ring, sealed, sealedAs(org)), 'base64url')
}

/** Binds the sealed key to its org and its use. */
export const sealedAs = (org: string) => `${org} idempotency`
