import {type Held, holdBilling} from '../../shared/billing/lease.ts'
import {lockBillingAccount} from '../../sql/billing-accounts.ts'
import type {Pool} from '../../sql/database.ts'
import {deferEvent} from '../../sql/payment-events.ts'

const mostTries = 5

/**
 * The org's billing, to apply this event; null where somebody else has it: then the event waits for them to let go, and they send it. Seen and
 * written down under one lock, so that nobody lets go in between.
 */
export const holdOrDefer = async (db: Pool, {org, event}: {org: string; event: string}): Promise<Held | null> => {
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
  throw new Error(`The billing of ${org} changes hands too fast`)
}
