import type {Stripe} from 'stripe'
import {findBillingAccount} from '../../sql/billing-accounts.ts'
import type {Tx} from '../../sql/database.ts'
import {type Attempt, findAttempt, findLastAsked, listOpenAttempts, resumeTopup} from '../../sql/topups.ts'
import {recordChanges} from '../configuration/change.ts'
import {readDefaultCard} from './default-card.ts'
import {PaymentFailure} from './payment-failure.ts'
import {beginTopup, chargeTopup, rebookTopup, type TopupDeps} from './topup-charge.ts'
import {failTopup, settleByIntent, stateOf, type TopupState} from './topup-settle.ts'

/** Hours within which a repeated call cannot charge the card twice. The provider remembers an idempotency key for a day. */
const replayHours = 23

/**
 * Settles a top-up from any state, as far as the provider knows the outcome, and returns its state. The job, the provider's events and a
 * periodic task call this, in any order and concurrently. If the provider is unavailable, the top-up stays unchanged.
 */
export const settleTopup = async (deps: TopupDeps, {org, attempt: id}: {org: string; attempt: string}): Promise<TopupState> => {
  const found = await findAttempt(deps.db, {org, id})
  if (!found) return 'gone'
  try {
    return await settle(deps, found)
  } catch (error) {
    if (!(error instanceof PaymentFailure)) throw error
    const {kind, status, code, requestId} = error
    deps.log.warn({err: error, org, attempt: id, payment: {kind, status, code, requestId}}, 'could not settle a top-up yet')
    return stateOf(deps.db, found)
  }
}

const settle = async (deps: TopupDeps, attempt: Attempt): Promise<TopupState> => {
  if (attempt.state === 'succeeded') return attempt.state
  if (attempt.state === 'pending') {
    const begun = await beginTopup(deps, attempt)
    return begun ? chargeTopup(deps, begun) : stateOf(deps.db, attempt)
  }
  // A top-up without stored parameters was never sent, so it was not charged.
  if (!('create' in attempt.params)) return attempt.state
  const intent = await findIntent(deps, attempt)
  if (intent) return settleByIntent(deps, attempt, intent)
  return attempt.state === 'unknown' ? settleUnseen(deps, attempt) : attempt.state
}

/**
 * Settles a top-up whose call was sent, but whose payment the provider does not know. Repeats the call if the top-up is still wanted and a
 * repeated call cannot charge twice. Fails the top-up after 24 hours.
 */
const settleUnseen = async (deps: TopupDeps, attempt: Attempt): Promise<TopupState> => {
  const {now, params} = attempt
  const hours = (Date.parse(now) - Date.parse(String(params.askedAt))) / 3_600_000
  if (hours >= replayHours + 1) return failTopup(deps, attempt, null)
  const again = hours < replayHours ? await rebookTopup(deps, attempt) : null
  return again ? chargeTopup(deps, again) : attempt.state
}

const perList = 100
const mostLists = 20

/**
 * Finds the payment by its id, or else by its metadata among the customer's payments since the call. Null if there is none. Throws a PaymentFailure
 * if the customer made more than 2,000 payments since the call.
 */
const findIntent = async ({payment}: TopupDeps, {id, params, intentId}: Attempt) => {
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

const emptyWhereGone = (error: unknown): {data: Stripe.PaymentIntent[]; has_more: boolean} => {
  if (error instanceof PaymentFailure && error.status === 404) return {data: [], has_more: false}
  throw error
}

export const settleTopups = async (deps: TopupDeps, org: string): Promise<void> => {
  for (const {id} of await listOpenAttempts(deps.db, {org, limit: 10})) await settleTopup(deps, {org, attempt: id})
}

/** Periodic task: settles the open top-ups of all orgs, oldest first, at most `most`. Returns how many it tried to settle. */
export const settleAllTopups = async (deps: TopupDeps, {most}: {most: number}): Promise<number> => {
  if (!deps.payment.isConfigured) return 0
  const open = await listOpenAttempts(deps.db, {org: null, limit: most})
  for (const {org, id} of open) await settleTopup(deps, {org, attempt: id})
  return open.length
}

/** The reasons that stop top-ups until the org has another card. */
const OF_CARD = ['card_declined', 'authentication_required', 'no_card'] as const

/**
 * Resumes top-ups that were stopped because of the card. Called when the provider reports a change of the customer or a card. The present
 * card must differ from the refused one, so that each card is tried once. Returns whether top-ups resumed.
 */
export const clearTopupStop = async (deps: TopupDeps, org: string): Promise<boolean> => {
  const account = await findBillingAccount(deps.db, org)
  if (!account?.customer || account.topupEnabled || !(OF_CARD as readonly (string | null)[]).includes(account.topupStopped)) return false
  const card = await readDefaultCard(deps, {org, customer: account.customer})
  const last = await findLastAsked(deps.db, org)
  const refused =
    account.topupStopped === 'no_card' ? null : ((last?.params.create as {payment_method?: string} | undefined)?.payment_method ?? null)
  if (card === null || card === refused) return false
  return deps.db.transaction(tx => resume(tx, {org, stopped: account.topupStopped!}))
}

const resume = async (tx: Tx, {org, stopped}: {org: string; stopped: string}): Promise<boolean> => {
  if (!(await resumeTopup(tx, {org, reasons: [stopped]}))) return false
  await recordChanges(tx, {org, via: 'payment'}, [{page: 'usage', subject: 'topup.resumed', before: {stopped}, after: {enabled: true}}])
  return true
}
