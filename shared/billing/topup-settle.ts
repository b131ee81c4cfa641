import type {Stripe} from 'stripe'
import {holdAccount} from '../../sql/ai-credits.ts'
import {lockBillingAccount} from '../../sql/billing-accounts.ts'
import type {Db, Pool, Tx} from '../../sql/database.ts'
import {type Attempt, endAttempt, findAttempt, stopTopup} from '../../sql/topups.ts'
import {recordChanges} from '../configuration/change.ts'
import {announce} from '../notifications/announce.ts'
import {grantCredits} from './credits/grant.ts'
import {PaymentFailure} from './payment-failure.ts'
import type {PaymentProvider} from './payment-provider.ts'
import {isoOf} from './subscription.ts'

export type TopupState = Attempt['state'] | 'gone'

export type TopupStop = 'card_declined' | 'authentication_required' | 'no_card' | 'pack_not_sold' | 'refused'

type SettleTopupDeps = {db: Pool; payment: PaymentProvider}

/**
 * From this age in ms, an unpaid payment without an error counts as abandoned. At the provider, a payment that is still being confirmed looks the
 * same.
 */
const confirmingMs = 120_000

/**
 * Settles a top-up by the state of its payment at the provider. Cancels a payment that failed or was abandoned, so that it cannot be paid later.
 * Until the payment is cancelled, the top-up uses up the monthly cap.
 */
export const settleByIntent = async (deps: SettleTopupDeps, attempt: Attempt, intent: Stripe.PaymentIntent): Promise<TopupState> => {
  const {status, last_payment_error: error} = intent
  if (status === 'succeeded') return succeedTopup(deps, attempt, intent)
  if (status === 'canceled') return declineTopup(deps, attempt, {intent: intent.id, code: error?.code})
  const age = Date.parse(attempt.now) - Date.parse(String(attempt.params.askedAt))
  if (status === 'processing' || (!error && age < confirmingMs)) return stateOf(deps.db, attempt)
  const ended = await cancelIntent(deps, intent.id)
  if (ended.status === 'succeeded') return succeedTopup(deps, attempt, ended)
  if (ended.status !== 'canceled') return stateOf(deps.db, attempt)
  return declineTopup(deps, attempt, {intent: intent.id, code: error?.code})
}

/**
 * Cancels a payment and returns its state afterwards, because the payment may have ended in another way meanwhile. The call is safe to repeat
 * and has no idempotency key.
 */
const cancelIntent = ({payment}: SettleTopupDeps, id: string) =>
  payment
    .ask('payment_intent', stripe => stripe.paymentIntents.cancel(id))
    .catch(error => {
      if (!(error instanceof PaymentFailure && error.kind === 'refused')) throw error
      return payment.ask('payment_intent', stripe => stripe.paymentIntents.retrieve(id))
    })

/** Grants the credits of a paid top-up. Safe to repeat: an attempt ends once, and its `ref` grants the credits once. */
const succeedTopup = (
  {db}: SettleTopupDeps,
  {id, org, credits}: Attempt,
  {id: intent, created}: Stripe.PaymentIntent,
): Promise<TopupState> =>
  db.transaction(async (tx): Promise<TopupState> => {
    await lockBoth(tx, org)
    const paidIn = isoOf(created)!.slice(0, 'yyyy-mm'.length)
    if (await endAttempt(tx, {id, state: 'succeeded', intent, paidIn})) {
      const {before, after} = await grantCredits(tx, {org, ref: `topup:${id}`, pool: 'purchased', credits, expiresAt: null})
      const change = {page: 'usage', subject: 'credits.purchased', before: before.purchased, after: after.purchased}
      await recordChanges(tx, {org, via: 'payment'}, [change])
    }
    return 'succeeded'
  })

export const declineTopup = (
  deps: SettleTopupDeps,
  attempt: Attempt,
  {intent, code}: {intent: string | null; code?: string | null | undefined},
) =>
  endUnpaid(deps, attempt, {
    state: 'declined',
    intent,
    stop: code === 'authentication_required' ? 'authentication_required' : 'card_declined',
  })

/** Ends an attempt that charged nothing. `stop`: why top-ups are disabled until a user acts; null if top-ups stay enabled. */
export const failTopup = (deps: SettleTopupDeps, attempt: Attempt, stop: TopupStop | null) =>
  endUnpaid(deps, attempt, {state: 'failed', intent: null, stop})

type Unpaid = {state: 'declined' | 'failed'; intent: string | null; stop: TopupStop | null}

const endUnpaid = ({db}: SettleTopupDeps, attempt: Attempt, {state, intent, stop}: Unpaid): Promise<TopupState> =>
  db.transaction(async (tx): Promise<TopupState> => {
    const {id, org, packKey, quantity, credits} = attempt
    await lockBoth(tx, org)
    if (!(await endAttempt(tx, {id, state, intent}))) return stateOf(tx, attempt)
    if (stop !== null && (await stopTopup(tx, {org, reason: stop}))) {
      await recordChanges(tx, {org, via: 'payment'}, [
        {page: 'usage', subject: 'topup.stopped', before: {enabled: true}, after: {stopped: stop}},
      ])
      const about = {reason: stop, attempt: id, pack: packKey, quantity, credits}
      await announce(tx, {org, kind: 'billing.topup_stopped', schedule: null, about})
    }
    return state
  })

const lockBoth = async (tx: Tx, org: string) => {
  const account = await lockBillingAccount(tx, org)
  await holdAccount(tx, org)
  return account
}

export const stateOf = async (db: Db, {org, id}: Pick<Attempt, 'org' | 'id'>): Promise<TopupState> =>
  (await findAttempt(db, {org, id}))?.state ?? 'gone'
