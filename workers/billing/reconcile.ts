import {holdBilling, releaseBilling} from '../../shared/billing/lease.ts'
import {PaymentFailure} from '../../shared/billing/payment-failure.ts'
import {settleChanges} from '../../shared/billing/plan-change-settle.ts'
import {settleStaleCheckouts} from '../../shared/billing/stale-checkouts.ts'
import {Refusal} from '../../shared/errors.ts'
import {applyPaymentEvent} from '../../shared/jobs.ts'
import {enqueue, type Queue} from '../../shared/queue.ts'
import {claimDueOrgs, giveBackDueOrgs} from '../../sql/due-billing.ts'
import {listWaitingEvents, mostEventAttempts} from '../../sql/payment-events.ts'
import type {WorkerDeps} from '../deps.ts'
import {usualAttempts} from './events.ts'
import {openSubscriptionReading} from './subscription-reading.ts'

const orgsPerRound = 20
const eventsPerRound = 100
/**
 * The delays until a waiting event is enqueued again. `pickupSeconds`: before the first attempt, because the job may be lost. `patienceSeconds`:
 * after an attempt. After `usualAttempts` attempts, each failure doubles this delay, up to `mostSeconds`. After `mostAttempts` attempts, in about a
 * week, the event is not enqueued again. A deferred event has no such delay, and waits only until the org's billing lock is free. The same holds for
 * an org's event whose worker died during the attempt.
 */
const patience = {
  pickupSeconds: 15,
  patienceSeconds: 300,
  usualAttempts,
  mostAttempts: mostEventAttempts,
  mostSeconds: 6 * 3600,
  limit: eventsPerRound,
}

/** Enqueues the waiting events that no worker applies. Does nothing if payments are not configured. */
export const enqueueWaitingEvents = async ({db, payment}: WorkerDeps, queue: Queue): Promise<void> => {
  if (!payment.isConfigured) return
  for (const event of await listWaitingEvents(db, patience))
    await db.transaction(tx => enqueue(queue, applyPaymentEvent, {event}, {tx, track: false}))
}

/**
 * Compares due orgs with the provider. If a call to the provider fails, the round ends, and the remaining orgs are due again in the next
 * round.
 */
export const reconcileDue = async (deps: WorkerDeps): Promise<void> => {
  const {db, payment, drain, log} = deps
  if (!payment.isConfigured) return
  const orgs = await claimDueOrgs(db, orgsPerRound)
  for (const [n, org] of orgs.entries()) {
    if (drain.aborted) return void (await giveBackDueOrgs(db, orgs.slice(n)))
    try {
      await reconcileOrg(deps, org)
    } catch (error) {
      log.warn({err: error, org}, 'could not compare an org with the payment provider')
      if (isOfProvider(error)) return void (await giveBackDueOrgs(db, orgs.slice(n + 1)))
    }
  }
}

const isOfProvider = (error: unknown) => error instanceof PaymentFailure || error instanceof Refusal

/**
 * Settles the org's stale Checkouts. Then, unless another process has the billing lock, settles open plan changes and writes the org's plan as the
 * provider has it.
 */
export const reconcileOrg = async (deps: WorkerDeps, org: string): Promise<void> => {
  await settleStaleCheckouts(deps, org)
  const held = await holdBilling(deps.db, org)
  if (!held) return
  try {
    const {current, write} = openSubscriptionReading(deps, held)
    await current()
    await deps.db.transaction(write)
    await settleChanges(deps, held)
  } finally {
    await releaseBilling(deps, held)
  }
}
