import {type BillingLease, holdBilling} from '../../shared/billing/lease.ts'
import {lockBillingAccount} from '../../sql/billing-accounts.ts'
import type {Pool} from '../../sql/database.ts'
import {deferEvent} from '../../sql/payment-events.ts'

const mostTries = 5

/**
 * Takes the org's billing lock to apply this event. If another process holds the lock, defers the event and returns null; that process
 * enqueues the event when it releases the lock. The check and the deferral share one row lock, so no release can come in between. Throws if the
 * lock changes owners five times meanwhile.
 */
export const holdOrDefer = async (db: Pool, {org, event}: {org: string; event: string}): Promise<BillingLease | null> => {
  for (let tries = 0; tries < mostTries; tries++) {
    const held = await holdBilling(db, org, 'events')
    if (held) return held
    const isDeferred = await db.transaction(async tx => {
      if (!(await lockBillingAccount(tx, org))?.isHeld) return false
      await deferEvent(tx, event)
      return true
    })
    if (isDeferred) return null
  }
  throw new Error(`The billing lease of ${org} changed owners ${mostTries} times in a row`)
}
