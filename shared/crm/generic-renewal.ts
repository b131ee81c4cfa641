import type {CrmOrg} from '../../sql/crm-quota.ts'
import type {Pool} from '../../sql/database.ts'
import {findRenewalWait, keepRenewal} from '../../sql/renewals.ts'
import {Refusal} from '../errors.ts'
import {quotaUntilRenewal} from './error.ts'

/**
 * After this process found the quota free, it does not read the stored state again for this time. Meanwhile only the destination itself refuses
 * calls.
 */
const lookAgainMs = 5_000

/** Blocks calls to a destination whose quota is exhausted, until the time at which the quota renews. */
export type Renewals = {
  /** Throws DAILY_ALLOWANCE_SPENT with the time left if the quota is exhausted. Call this before each CRM call. */
  enter(org: CrmOrg): Promise<void>
  /** Records that the quota is exhausted for `waitMs`, or until the next `dailyAt` (UTC) if `waitMs` is null. Returns the wait in ms. */
  spent(org: CrmOrg, until: {dailyAt: string; waitMs: number | null}): Promise<number>
}

/** All processes share the state in Postgres. A free quota is cached for five seconds, so most calls need no query. */
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

const used = (waitMs: number) => new Refusal('DAILY_ALLOWANCE_SPENT', quotaUntilRenewal, {retryAfterMs: Math.ceil(waitMs)})
