import {type BillingLease, keepLease, LeaseGone, releaseBilling} from '../../shared/billing/lease.ts'
import {nullWhereGone, PaymentFailure} from '../../shared/billing/payment-failure.ts'
import {settleChanges} from '../../shared/billing/plan-change-settle.ts'
import {idOf} from '../../shared/billing/subscription.ts'
import {Refusal} from '../../shared/errors.ts'
import {findOrgOfCustomer} from '../../sql/billing-accounts.ts'
import {sqlStateOf} from '../../sql/database.ts'
import {
  type EventStatus,
  endEvent,
  findEvent,
  listOpenEvents,
  noteEventFailure,
  type PaymentEvent,
  setEventOrg,
  startEvent,
} from '../../sql/payment-events.ts'
import type {WorkerDeps} from '../deps.ts'
import {applyEvent} from './apply.ts'
import {holdOrDefer} from './hold-or-defer.ts'
import {openSubscriptionReading, type SubscriptionReading} from './subscription-reading.ts'

/** An event gets the status `failed` after this many attempts. Later attempts become more and more rare (reconcile.ts). */
export const usualAttempts = 5
const perLook = 100
/**
 * The longest time in ms for an org's other events. The remaining events are left to a later job, so that a drain of the process does not
 * wait longer.
 */
const longestMs = 20_000

/**
 * Applies the event, and then the org's other untried events until `longestMs`, under one billing lock. Does nothing if the event is already
 * processed or ignored. One read of the subscription serves all events that arrived before it. Returns the status of the named event; `deferred`
 * if another process holds the lock.
 */
export const applyEvents = async (deps: WorkerDeps, id: string): Promise<EventStatus> => {
  const event = await findEvent(deps.db, id)
  if (!event || event.status === 'processed' || event.status === 'ignored') return event?.status ?? 'ignored'
  return event.org === null ? applyToWhom(deps, event) : applyTo(deps, {org: event.org, id})
}

const applyTo = async (deps: WorkerDeps, {org, id}: {org: string; id: string}): Promise<EventStatus> => {
  const held = await holdOrDefer(deps.db, {org, event: id})
  if (!held) return 'deferred'
  try {
    const reading = openSubscriptionReading(deps, held)
    const status = await applyOne(deps, {held, reading, id})
    await applyOthers(deps, {held, reading})
    // The applied events may have completed plan changes. These are settled now.
    await settleChanges(deps, held).catch(err =>
      deps.log.warn({err, org}, 'could not settle the plan changes of an org; they are retried in the next round'),
    )
    return status
  } finally {
    await releaseBilling(deps, held)
  }
}

type One = {held: BillingLease; reading: SubscriptionReading; id: string}

const applyOne = async (deps: WorkerDeps, {held, reading, id}: One, again: 'received' | 'deferred' = 'received'): Promise<EventStatus> => {
  const event = await startEvent(deps.db, id)
  if (!event) return 'processed'
  try {
    return await applyEvent({tools: deps, held, reading, event})
  } catch (error) {
    return noteFailure(deps, {event, error, again})
  }
}

type FailedEvent = {event: PaymentEvent; error: unknown; again: 'received' | 'deferred'}

/**
 * Records a failed attempt and rethrows the error, so that the event is retried. The retry comes from the event's job, or from the release of the
 * billing lock. After `usualAttempts` failures, the event gets the status `failed` and nothing is thrown. `enqueueWaitingEvents` then retries the
 * event.
 */
const noteFailure = async ({db, log}: WorkerDeps, {event, error, again}: FailedEvent): Promise<EventStatus> => {
  const {id, type, org, attempts} = event
  const status = attempts < usualAttempts ? again : 'failed'
  await noteEventFailure(db, {id, status, error: codeOf(error)})
  if (status === again) throw error
  log.error({err: error, event: id, type, org}, 'could not apply an event of the payment provider')
  return status
}

/**
 * Applies the org's events that were not tried yet, in the order of arrival. Stops at a failure that is retried, at a drain, or after
 * `longestMs`. A later job applies the rest.
 */
const applyOthers = async (deps: WorkerDeps, {held, reading}: Omit<One, 'id'>) => {
  const {db, drain, log} = deps
  for (const end = Date.now() + longestMs; ; ) {
    const ids = await listOpenEvents(db, {org: held.org, limit: perLook})
    if (ids.length === 0) return
    reading.forget()
    await keepLease(db, held)
    for (const id of ids) {
      if (drain.aborted || Date.now() > end) return
      try {
        await applyOne(deps, {held, reading, id}, 'deferred')
      } catch (err) {
        if (!(err instanceof LeaseGone)) log.warn({err, event: id, org: held.org}, 'an event of the payment provider failed and is retried')
        return
      }
    }
  }
}

/** Applies an event without an org, such as a dispute. A dispute names no customer, but its charge does. */
const applyToWhom = async (deps: WorkerDeps, event: PaymentEvent): Promise<EventStatus> => {
  const {id} = event
  let customer: string | null
  try {
    customer = await readCustomer(deps, event)
  } catch (error) {
    return noteFailure(deps, {event: (await startEvent(deps.db, id)) ?? event, error, again: 'received'})
  }
  const org = customer === null ? null : await findOrgOfCustomer(deps.db, customer)
  if (org !== null) {
    await setEventOrg(deps.db, {id, org})
    return applyTo(deps, {org, id})
  }
  await endEvent(deps.db, {id, status: 'ignored', error: 'UNKNOWN_CUSTOMER'})
  return 'ignored'
}

/**
 * Reads the customer of the event's charge. Null if the provider does not know the charge, or if the event has none. An event without a charge
 * had an org, which was erased meanwhile.
 */
const readCustomer = async ({payment}: WorkerDeps, {hint: {charge}}: PaymentEvent): Promise<string | null> => {
  const found = charge === null ? null : await payment.ask('charge', stripe => stripe.charges.retrieve(charge)).catch(nullWhereGone)
  return found && idOf(found.customer)
}

/** Returns a code of the error for staff. The code never contains the provider's text. */
const codeOf = (error: unknown): string => {
  if (error instanceof PaymentFailure) return ['PAYMENT_PROVIDER', error.kind, error.status, error.code].filter(Boolean).join(' ')
  if (error instanceof Refusal) return error.code
  if (error instanceof LeaseGone) return 'HOLD_RAN_OUT'
  const state = sqlStateOf(error)
  return state === null ? 'INTERNAL' : `DATABASE ${state}`
}
