import {holdBilling, releaseBilling} from '../../shared/billing/lease.ts'
import {PaymentFailure} from '../../shared/billing/payment-failure.ts'
import {settleChanges} from '../../shared/billing/plan-change-settle.ts'
import {settleStaleCheckouts} from '../../shared/billing/stale-checkouts.ts'
import {Refusal} from '../../shared/errors.ts'
import {applyPaymentEvent} from '../../shared/jobs.ts'
import {enqueue, type Queue} from '../../shared/queue.ts'
import {claimDueOrgs, giveBackDueOrgs} from '../../sql/due-billing.ts'
import {listWaitingEvents} from '../../sql/payment-events.ts'
import type {Tools} from '../tools.ts'
import {usualAttempts} from './events.ts'
import {openReading} from './reading.ts'

const orgsPerRound = 20
const eventsPerRound = 100
/**
 * An event without an attempt is sent again after `pickupSeconds`, because the worker that took its job may have died; a queued job is not queued
 * twice. After an attempt the pause is `patienceSeconds`. It doubles with each failure up to six hours, for about a week.
 */
const patience = {pickupSeconds: 15, patienceSeconds: 300, usualAttempts, mostAttempts: 40, mostSeconds: 6 * 3600, limit: eventsPerRound}

/** Events that nobody is at are sent to be applied once more. */
export const sendWaiting = async ({db, payment}: Tools, queue: Queue): Promise<void> => {
  if (!payment.isConfigured) return
  for (const event of await listWaitingEvents(db, patience))
    await db.transaction(tx => enqueue(queue, applyPaymentEvent, {event}, {tx, track: false}))
}

/**
 * Compares what is due with the provider. One that does not answer is asked no more in this round: what was claimed and not come to is due
 * again in the next.
 */
export const reconcileDue = async (tools: Tools): Promise<void> => {
  const {db, payment, drain, log} = tools
  if (!payment.isConfigured) return
  const orgs = await claimDueOrgs(db, orgsPerRound)
  for (const [n, org] of orgs.entries()) {
    if (drain.aborted) return void (await giveBackDueOrgs(db, orgs.slice(n)))
    try {
      await reconcileOrg(tools, org)
    } catch (error) {
      log.warn({err: error, org}, 'what an org has at the payment provider could not be compared')
      if (isOfProvider(error)) return void (await giveBackDueOrgs(db, orgs.slice(n + 1)))
    }
  }
}

const isOfProvider = (error: unknown) => error instanceof PaymentFailure || error instanceof Refusal

/** All that may be open with an org is brought to an end, or found to go on; then its plan is what the provider says. */
export const reconcileOrg = async (tools: Tools, org: string): Promise<void> => {
  await settleStaleCheckouts(tools, org)
  const held = await holdBilling(tools.db, org)
  if (!held) return
  try {
    const {current, write} = openReading(tools, held)
    await current()
    await tools.db.transaction(write)
    await settleChanges(tools, held)
  } finally {
    await releaseBilling(tools, held)
  }
}
