import type {Stripe} from 'stripe'
import {findBillingAccount} from '../../sql/billing-accounts.ts'
import type {Tx} from '../../sql/database.ts'
import {type Attempt, findAttempt, findLastAsked, listOpenAttempts, resumeTopup} from '../../sql/topups.ts'
import {recordChanges} from '../registry/change.ts'
import {readDefaultCard} from './default-card.ts'
import {PaymentFailure} from './payment-failure.ts'
import {askTopup, beginTopup, rebookTopup, type Tools} from './topup-charge.ts'
import {failTopup, type Settled, settleByIntent, stateOf} from './topup-settle.ts'

export type {Tools}

/** The provider keeps an answer under its key for a day; asked before that is over, the card is charged once. */
const replayHours = 23

/**
 * Brings a top-up to its end, from wherever it stands, as far as the provider says what has become of it; called by the job, by the provider's
 * events and by the worker's rounds, in any order and at once. Answers how it stands. A provider that is away leaves it as it is.
 */
export const settleTopup = async (tools: Tools, {org, attempt: id}: {org: string; attempt: string}): Promise<Settled> => {
  const found = await findAttempt(tools.db, {org, id})
  if (!found) return 'gone'
  try {
    return await settle(tools, found)
  } catch (error) {
    if (!(error instanceof PaymentFailure)) throw error
    const {kind, status, code, requestId} = error
    tools.log.warn({err: error, org, attempt: id, payment: {kind, status, code, requestId}}, 'a top-up is not settled yet')
    return stateOf(tools.db, found)
  }
}

const settle = async (tools: Tools, attempt: Attempt): Promise<Settled> => {
  if (attempt.state === 'succeeded') return attempt.state
  if (attempt.state === 'pending') {
    const begun = await beginTopup(tools, attempt)
    return begun ? askTopup(tools, begun) : stateOf(tools.db, attempt)
  }
  // What was never asked for was not charged.
  if (!('create' in attempt.params)) return attempt.state
  const intent = await findIntent(tools, attempt)
  if (intent) return settleByIntent(tools, attempt, intent)
  return attempt.state === 'unknown' ? settleUnseen(tools, attempt) : attempt.state
}

/** Asked for, and the provider knows of none: asked for again while that cannot charge twice, and is still wanted. */
const settleUnseen = async (tools: Tools, attempt: Attempt): Promise<Settled> => {
  const {now, params} = attempt
  const hours = (Date.parse(now) - Date.parse(String(params.askedAt))) / 3_600_000
  if (hours >= replayHours + 1) return failTopup(tools, attempt, null)
  const again = hours < replayHours ? await rebookTopup(tools, attempt) : null
  return again ? askTopup(tools, again) : attempt.state
}

const perList = 100
const mostLists = 20

/** By its id, or among all of the customer's since it was asked for: the newest come first, and ours is named on it. */
const findIntent = async ({payment}: Tools, {id, params, intentId}: Attempt) => {
  if (intentId !== null) return payment.ask('payment_intent', stripe => stripe.paymentIntents.retrieve(intentId))
  const {customer} = params.create as {customer: string}
  const after = Math.floor(Date.parse(String(params.askedAt)) / 1000) - 3600
  for (let page = 0, from: {starting_after?: string} = {}; page < mostLists; page++) {
    const {data, has_more} = await payment
      .ask('list', stripe => stripe.paymentIntents.list({customer, limit: perList, ...from}))
      .catch(emptyWhereGone)
    const found = data.find(({metadata}) => metadata.attempt_id === id)
    if (found) return found
    const last = data.at(-1)
    if (!has_more || !last || last.created < after) return null
    from = {starting_after: last.id}
  }
  throw new PaymentFailure(`More than ${perList * mostLists} payments of one customer since then`, {kind: 'unavailable'})
}

/** Who has no such customer any more has no payment of theirs either. */
const emptyWhereGone = (error: unknown): {data: Stripe.PaymentIntent[]; has_more: boolean} => {
  if (error instanceof PaymentFailure && error.status === 404) return {data: [], has_more: false}
  throw error
}

/** All of the org's that are under way. */
export const settleTopups = async (tools: Tools, org: string): Promise<void> => {
  for (const {id} of await listOpenAttempts(tools.db, {org, limit: 10})) await settleTopup(tools, {org, attempt: id})
}

/** A step of the worker's rounds: those of every org, the oldest first. Answers how many there were. */
export const settleAllTopups = async (tools: Tools, {most}: {most: number}): Promise<number> => {
  if (!tools.payment.isConfigured) return 0
  const open = await listOpenAttempts(tools.db, {org: null, limit: most})
  for (const {org, id} of open) await settleTopup(tools, {org, attempt: id})
  return open.length
}

/** What another card may cure. */
const OF_CARD = ['card_declined', 'authentication_required', 'no_card'] as const

/**
 * For whenever the provider says that the customer or a card of theirs has changed: a top-up that a card stopped goes on with another one. The
 * card is read, and compared with the one that was refused, so that each is tried once and none again and again. Answers whether it goes on.
 */
export const clearTopupStop = async (tools: Tools, org: string): Promise<boolean> => {
  const account = await findBillingAccount(tools.db, org)
  if (!account?.customer || account.topupEnabled || !(OF_CARD as readonly (string | null)[]).includes(account.topupStopped)) return false
  const card = await readDefaultCard(tools, {org, customer: account.customer})
  const last = await findLastAsked(tools.db, org)
  const refused =
    account.topupStopped === 'no_card' ? null : ((last?.params.create as {payment_method?: string} | undefined)?.payment_method ?? null)
  if (card === null || card === refused) return false
  return tools.db.transaction(tx => resume(tx, {org, stopped: account.topupStopped!}))
}

const resume = async (tx: Tx, {org, stopped}: {org: string; stopped: string}): Promise<boolean> => {
  if (!(await resumeTopup(tx, {org, reasons: [stopped]}))) return false
  await recordChanges(tx, {org, via: 'payment'}, [{page: 'usage', subject: 'topup.resumed', before: {stopped}, after: {enabled: true}}])
  return true
}
