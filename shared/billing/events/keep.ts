import type {Stripe} from 'stripe'
import {findOrgOfCustomer, lockBillingAccount} from '../../../sql/billing-accounts.ts'
import type {Pool, Tx} from '../../../sql/database.ts'
import {deferEvent, type EventStatus, findEventStatus, type Hint, insertEvent, lockEventStatus} from '../../../sql/payment-events.ts'
import type {Config} from '../../config.ts'
import {applyPaymentEvent} from '../../jobs.ts'
import {enqueue, type Queue} from '../../queue.ts'
import {isLiveKey} from '../key-mode.ts'
import {changeInProgress, isForEvents} from '../lease.ts'
import {APP} from '../metadata.ts'
import {assertEvent, hintOf} from './hint.ts'
import {meaningOf} from './meaning.ts'

type Tools = {db: Pool; queue: Queue; config: Pick<Config, 'PAYMENT_ENVIRONMENT' | 'PAYMENT_API_KEY'>}

/**
 * Keeps an event that was verified and has it applied, once under its id however often it is told. While somebody changes something about the
 * org's plan it is kept, refused with CHANGE_IN_PROGRESS, which has the provider tell it again, and applied when they are done. What comes while
 * other events of the org are applied is applied after them, and no refusal: one purchase is told of in eight events within a second.
 */
export const keepEvent = async ({db, queue, config}: Tools, event: Stripe.Event): Promise<{received: true}> => {
  assertEvent(event)
  const {id, type} = event
  if (isOver(await findEventStatus(db, id))) return {received: true}
  const hint = hintOf(event)
  const isTaken = await db.transaction(async tx => {
    const {org, ignoredFor} = await findWhose(tx, config, type, hint)
    const status: EventStatus = ignoredFor === null ? 'received' : 'ignored'
    // Takes turns with whoever lets go of the org: they see this event, or it is not held any more.
    const account = org === null || status === 'ignored' ? null : await lockBillingAccount(tx, org)
    await insertEvent(tx, {id, type, status, org, error: ignoredFor || null, hint})
    if (isOver(await lockEventStatus(tx, id))) return true
    if (!account?.isHeld) {
      await enqueue(queue, applyPaymentEvent, {event: id}, {tx, track: false})
      return true
    }
    await deferEvent(tx, id)
    return isForEvents(account.heldBy)
  })
  if (!isTaken) throw changeInProgress()
  return {received: true}
}

const isOver = (status: EventStatus | null) => status === 'processed' || status === 'ignored'

/** `ignoredFor`: a word on why nothing follows from it, empty where its type says it all; null where something may. */
const findWhose = async (
  tx: Tx,
  config: Tools['config'],
  type: string,
  {customer, charge, app, env, org: named, live}: Hint,
): Promise<{org: string | null; ignoredFor: string | null}> => {
  const org = customer === null ? null : await findOrgOfCustomer(tx, customer)
  const isOthers = app !== null && (app !== APP || env !== config.PAYMENT_ENVIRONMENT)
  if (live !== isLiveKey(config.PAYMENT_API_KEY)) return {org, ignoredFor: 'OTHER_MODE'}
  if (isOthers) return {org: null, ignoredFor: 'OTHER_APP'}
  if (meaningOf(type) === null) return {org, ignoredFor: ''}
  // A dispute names a charge, and the charge names the customer.
  if (customer === null && charge !== null) return {org: null, ignoredFor: null}
  if (org === null) return {org, ignoredFor: 'UNKNOWN_CUSTOMER'}
  return {org, ignoredFor: named === null || named === org ? null : 'OTHER_ORG'}
}
