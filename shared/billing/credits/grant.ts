import {z} from 'zod'
import {type CreditPool, hasGrant, insertGrant, postEntry} from '../../../sql/ai-credits.ts'
import type {Pool, Tx} from '../../../sql/database.ts'
import {isOrg} from '../../../sql/orgs.ts'
import {recordStaffAction, type Staff} from '../../accounts/staff-action.ts'
import {recordChanges} from '../../configuration/change.ts'
import {Refusal} from '../../errors.ts'
import {newId} from '../../ids.ts'
import {Instant} from '../../schema/instant.ts'
import {type Balance, holdCurrent, readBalance} from './balance.ts'

type GrantInput = {org: string; ref: string; pool: CreditPool; credits: number; expiresAt: string | null}

/**
 * Grants credits to an org, once per `ref`. Without `expiresAt`, included credits expire with the period and purchased credits never.
 * Returns the balance before and after the grant; both are equal if the `ref` was used before.
 */
export const grantCredits = async (
  tx: Tx,
  {org, ref, pool, credits, expiresAt}: GrantInput,
): Promise<{before: Balance; after: Balance}> => {
  const {planStatus, balance: before} = await holdCurrent(tx, org)
  const ends = expiresAt ?? (pool === 'included' ? planStatus.window.endsAt : null)
  if (ends !== null && ends <= planStatus.now) {
    if (await hasGrant(tx, {org, ref})) return {before, after: before}
    throw new Refusal('INVALID', 'These credits would have expired already. Give a later expiresAt')
  }
  if (!(await insertGrant(tx, {org, ref, pool, credits, basis: null, expiresAt: ends}))) return {before, after: before}
  await postEntry(tx, {org, kind: 'grant', ref, [pool]: credits})
  return {before, after: await readBalance(tx, planStatus)}
}

const most = 1_000_000_000
/** Maximum number of decimal places of an amount. `most` with six decimal places is still exact as a JSON number. */
const places = 6
const hasPlaces = (credits: number) => Number(credits.toFixed(places)) === credits

export const CreditsBody = z.strictObject({
  pool: z.enum(['included', 'purchased']).describe('The pool. Included credits are spent first'),
  credits: z
    .number()
    .positive()
    .max(most)
    .refine(hasPlaces, `At most ${places} decimal places`)
    .describe(`The number of credits, with at most ${places} decimal places`),
  ref: z
    .string()
    .trim()
    .min(1)
    .max(200)
    .optional()
    .describe('Identifies the grant, so that a repeated request grants it once. Generated if left out'),
  reason: z.string().trim().max(1000).nullish().describe('The reason, for the staff log'),
  expiresAt: Instant.nullish().describe('When the credits expire. Left out: included credits expire with the period, purchased ones never'),
})

/**
 * Grants credits on behalf of support, and records the grant in the staff log and the org's settings history. If the `ref` was used before,
 * grants and records nothing.
 */
export const grantByStaff = (db: Pool, staff: Staff, {org, ...asked}: z.output<typeof CreditsBody> & {org: string}) =>
  db.transaction(async tx => {
    if (!(await isOrg(tx, org))) throw new Refusal('NOT_FOUND', 'No such org')
    const {pool, credits, ref: name = newId('crd'), reason, expiresAt: given} = asked
    const expiresAt = given ? new Date(given).toISOString() : null
    const {before, after} = await grantCredits(tx, {org, ref: `staff:${name}`, pool, credits, expiresAt})
    if (after !== before) {
      await recordStaffAction(tx, staff, {
        kind: 'org.credits',
        org,
        reason: reason || undefined,
        detail: {pool, credits, ref: name, expiresAt},
      })
      const change = {page: 'usage', subject: `credits.${pool}`, before: before[pool], after: after[pool]}
      await recordChanges(tx, {org, via: 'staff'}, [change])
    }
    return {ref: name, balance: after}
  })
