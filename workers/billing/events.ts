import {type Held, keepHeld, LeaseGone, releaseBilling} from '../../shared/billing/lease.ts'
import {PaymentFailure} from '../../shared/billing/payment-failure.ts'
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
import type {Tools} from '../tools.ts'
import {applyEvent} from './apply.ts'
import {holdOrDefer} from './hold.ts'
import {openReading, type Reading} from './reading.ts'

/** After so many an event counts as failed, and is tried again more and more rarely (reconcile.ts). */
export const usualAttempts = 5
const perLook = 100
/** Then the rest is somebody else's turn: the drain of a process waits for nothing longer. */
const longestMs = 20_000

/**
 * Applies the event, and whatever else came for its org meanwhile, under one hold: what the provider is asked because of one answers for all
 * that came before. Answers what became of the one named.
 */
export const applyEvents = async (tools: Tools, id: string): Promise<EventStatus> => {
  const event = await findEvent(tools.db, id)
  if (!event || event.status === 'processed' || event.status === 'ignored') return event?.status ?? 'ignored'
  return event.org === null ? applyToWhom(tools, event) : applyTo(tools, {org: event.org, id})
}

const applyTo = async (tools: Tools, {org, id}: {org: string; id: string}): Promise<EventStatus> => {
  const held = await holdOrDefer(tools.db, {org, event: id})
  if (!held) return 'deferred'
  try {
    const reading = openReading(tools, held)
    const status = await applyOne(tools, {held, reading, id})
    await applyOthers(tools, {held, reading})
    // What the events have shown to be done is done.
    await settleChanges(tools, held).catch(err => tools.log.warn({err, org}, 'the plan changes of an org are left to the next round'))
    return status
  } finally {
    await releaseBilling(tools, held)
  }
}

type One = {held: Held; reading: Reading; id: string}

const applyOne = async (tools: Tools, {held, reading, id}: One, again: 'received' | 'deferred' = 'received'): Promise<EventStatus> => {
  const event = await startEvent(tools.db, id)
  if (!event) return 'processed'
  try {
    return await applyEvent({tools, held, reading, event})
  } catch (error) {
    return noteFailure(tools, {event, error, again})
  }
}

type Failed = {event: PaymentEvent; error: unknown; again: 'received' | 'deferred'}

/** Thrown on, for it to be tried again, unless that was done often enough: by its own job, or sent when the org is let go of. */
const noteFailure = async ({db, log}: Tools, {event, error, again}: Failed): Promise<EventStatus> => {
  const {id, type, org, attempts} = event
  const status = attempts < usualAttempts ? again : 'failed'
  await noteEventFailure(db, {id, status, error: codeOf(error)})
  if (status === again) throw error
  log.error({err: error, event: id, type, org}, 'an event of the payment provider cannot be applied')
  return status
}

/** In the order they came. One that fails is the first of another turn. */
const applyOthers = async (tools: Tools, {held, reading}: Omit<One, 'id'>) => {
  const {db, drain, log} = tools
  for (const end = Date.now() + longestMs; ; ) {
    const ids = await listOpenEvents(db, {org: held.org, limit: perLook})
    if (ids.length === 0) return
    reading.forget()
    await keepHeld(db, held)
    for (const id of ids) {
      if (drain.aborted || Date.now() > end) return
      try {
        await applyOne(tools, {held, reading, id}, 'deferred')
      } catch (err) {
        if (!(err instanceof LeaseGone)) log.warn({err, event: id, org: held.org}, 'an event of the payment provider is tried again')
        return
      }
    }
  }
}

/** A dispute names no customer; its charge does. */
const applyToWhom = async (tools: Tools, event: PaymentEvent): Promise<EventStatus> => {
  const {id} = event
  let customer: string | null
  try {
    customer = await readCustomer(tools, event)
  } catch (error) {
    return noteFailure(tools, {event: (await startEvent(tools.db, id)) ?? event, error, again: 'received'})
  }
  const org = customer === null ? null : await findOrgOfCustomer(tools.db, customer)
  if (org !== null) {
    await setEventOrg(tools.db, {id, org})
    return applyTo(tools, {org, id})
  }
  await endEvent(tools.db, {id, status: 'ignored', error: 'UNKNOWN_CUSTOMER'})
  return 'ignored'
}

/** None where there is no charge either: its org was erased meanwhile. */
const readCustomer = async ({payment}: Tools, {hint: {charge}}: PaymentEvent): Promise<string | null> =>
  charge === null ? null : idOf((await payment.ask('charge', stripe => stripe.charges.retrieve(charge))).customer)

/** What staff are shown: words of ours and codes, never the provider's words. */
const codeOf = (error: unknown): string => {
  if (error instanceof PaymentFailure) return ['PAYMENT_PROVIDER', error.kind, error.status, error.code].filter(Boolean).join(' ')
  if (error instanceof Refusal) return error.code
  if (error instanceof LeaseGone) return 'HOLD_RAN_OUT'
  const state = sqlStateOf(error)
  return state === null ? 'INTERNAL' : `DATABASE ${state}`
}
