import type {CrmOrg} from '../../sql/allowances.ts'
import type {Pool} from '../../sql/database.ts'
import {findRenewalWait, keepRenewal} from '../../sql/renewals.ts'
import {Refusal} from '../errors.ts'

/** How late this process may learn what another one was told. Until then the destination itself refuses. */
const lookAgainMs = 5_000

/** The gate of destinations that name the moment their allowance is there again: until then nothing is sent, after it everything. */
export type Renewals = {
  /** Before a call: throws DAILY_ALLOWANCE_SPENT with the time left. */
  enter(org: CrmOrg): Promise<void>
  /** The destination said that it is used up; answers for how long, in ms. */
  spent(org: CrmOrg, until: {dailyAt: string; waitMs: number | null}): Promise<number>
}

/** Kept in Postgres for all processes, and known here without asking for every call that goes through. */
export const openRenewals = (db: Pool): Renewals => {
  const freeAt = new Map<string, number>()
  return {
    async enter(org) {
      const looked = freeAt.get(org.crmOrgId) ?? Number.NEGATIVE_INFINITY
      if (performance.now() - looked < lookAgainMs) return
      const waitMs = await findRenewalWait(db, org)
      if (waitMs !== null) throw used(waitMs)
      freeAt.set(org.crmOrgId, performance.now())
    },
    async spent(org, until) {
      freeAt.delete(org.crmOrgId)
      return Math.ceil(await keepRenewal(db, org, until))
    },
  }
}

const used = (waitMs: number) =>
  new Refusal('DAILY_ALLOWANCE_SPENT', 'The allowance of this destination is used up. It is there again at the moment it names', {
    retryAfterMs: Math.ceil(waitMs),
  })
