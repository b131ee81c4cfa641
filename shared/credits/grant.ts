import {z} from 'zod'
import {type CreditPool, insertGrant, postEntry} from '../../sql/credits.ts'
import type {Pool, Tx} from '../../sql/database.ts'
import {isOrg} from '../../sql/orgs.ts'
import {Refusal} from '../errors.ts'
import {newId} from '../ids.ts'
import {recordStaffAction, type Staff} from '../people/staff-action.ts'
import {recordChanges} from '../registry/change.ts'
import {type Balance, holdCurrent, readBalance} from './balance.ts'

type Given = {org: string; ref: string; pool: CreditPool; credits: number; expiresAt: string | null}

/**
 * Gives an org credits, once under one `ref`. Included ones end with the period unless they are given another end; purchased ones last. Answers
 * what the org has before and after; the same where they had been given before.
 */
export const grantCredits = async (tx: Tx, {org, ref, pool, credits, expiresAt}: Given): Promise<{before: Balance; after: Balance}> => {
  const {standing, balance: before} = await holdCurrent(tx, org)
  const ends = expiresAt ?? (pool === 'included' ? standing.window.endsAt : null)
  if (ends !== null && ends <= standing.now)
    throw new Refusal('INVALID', 'These credits would have expired already: give a later expiresAt')
  if (!(await insertGrant(tx, {org, ref, pool, credits, basis: null, expiresAt: ends}))) return {before, after: before}
  await postEntry(tx, {org, kind: 'grant', ref, [pool]: credits})
  return {before, after: await readBalance(tx, standing)}
}

const most = 1_000_000_000

export const CreditsBody = z.strictObject({
  pool: z.enum(['included', 'purchased']).describe('Included ones are spent first'),
  credits: z.int().min(1).max(most).describe('How many'),
  ref: z.string().trim().min(1).max(200).optional().describe('What the gift is known by, so that it is given once; made up when left out'),
  reason: z.string().trim().max(1000).nullish().describe('Why, for the record'),
  expiresAt: z.iso.datetime({offset: true}).nullish().describe('When they end; left out: with the period when included, else never'),
})

/** What support gives: on the staff's record, and in the org's settings history. A `ref` used before gives, and records, nothing. */
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
