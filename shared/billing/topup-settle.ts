import type {Stripe} from 'stripe'
import {lockBillingAccount} from '../../sql/billing-accounts.ts'
import {holdAccount} from '../../sql/credits.ts'
import type {Db, Pool, Tx} from '../../sql/database.ts'
import {type Attempt, endAttempt, findAttempt, stopTopup} from '../../sql/topups.ts'
import {grantCredits} from '../credits/grant.ts'
import {announce} from '../notices/announce.ts'
import {recordChanges} from '../registry/change.ts'
import {PaymentFailure} from './payment-failure.ts'
import type {PaymentProvider} from './payment-provider.ts'
import {isoOf} from './subscription.ts'

export type Settled = Attempt['state'] | 'gone'

/** Why topping up was switched off unasked. */
export type Stop = 'card_declined' | 'authentication_required' | 'no_card' | 'pack_not_sold' | 'refused'

type Tools = {db: Pool; payment: PaymentProvider}

/** One that is being confirmed at this moment looks like one nobody will ever confirm. */
const confirmingMs = 120_000

/** By what the provider has of it. One that is not paid is cancelled first, so that nobody can pay it any more, and counts until then. */
export const settleByIntent = async (tools: Tools, attempt: Attempt, intent: Stripe.PaymentIntent): Promise<Settled> => {
  const {status, last_payment_error: error} = intent
  if (status === 'succeeded') return succeedTopup(tools, attempt, intent)
  if (status === 'canceled') return declineTopup(tools, attempt, {intent: intent.id, code: error?.code})
  const age = Date.parse(attempt.now) - Date.parse(String(attempt.params.askedAt))
  if (status === 'processing' || (!error && age < confirmingMs)) return stateOf(tools.db, attempt)
  const ended = await cancelIntent(tools, intent.id)
  if (ended.status === 'succeeded') return succeedTopup(tools, attempt, ended)
  if (ended.status !== 'canceled') return stateOf(tools.db, attempt)
  return declineTopup(tools, attempt, {intent: intent.id, code: error?.code})
}

/** As it stands after that: somebody may have been faster, whichever way. It has no key of its own: cancelled twice is cancelled. */
const cancelIntent = ({payment}: Tools, id: string) =>
  payment
    .ask('payment_intent', stripe => stripe.paymentIntents.cancel(id))
    .catch(error => {
      if (!(error instanceof PaymentFailure && error.kind === 'refused')) throw error
      return payment.ask('payment_intent', stripe => stripe.paymentIntents.retrieve(id))
    })

/** Once, whoever learns of it first: the attempt ends once, and credits are given once under its name. */
const succeedTopup = ({db}: Tools, {id, org, credits}: Attempt, {id: intent, created}: Stripe.PaymentIntent): Promise<Settled> =>
  db.transaction(async (tx): Promise<Settled> => {
    await holdBoth(tx, org)
    const paidIn = isoOf(created)!.slice(0, 'yyyy-mm'.length)
    if (await endAttempt(tx, {id, state: 'succeeded', intent, paidIn})) {
      const {before, after} = await grantCredits(tx, {org, ref: `topup:${id}`, pool: 'purchased', credits, expiresAt: null})
      const change = {page: 'usage', subject: 'credits.purchased', before: before.purchased, after: after.purchased}
      await recordChanges(tx, {org, via: 'payment'}, [change])
    }
    return 'succeeded'
  })

export const declineTopup = (tools: Tools, attempt: Attempt, {intent, code}: {intent: string | null; code?: string | null | undefined}) =>
  endUnpaid(tools, attempt, {
    state: 'declined',
    intent,
    stop: code === 'authentication_required' ? 'authentication_required' : 'card_declined',
  })

/** Nothing was charged. `stop`: nor will anything be, until somebody has looked at it. */
export const failTopup = (tools: Tools, attempt: Attempt, stop: Stop | null) =>
  endUnpaid(tools, attempt, {state: 'failed', intent: null, stop})

type Unpaid = {state: 'declined' | 'failed'; intent: string | null; stop: Stop | null}

const endUnpaid = ({db}: Tools, attempt: Attempt, {state, intent, stop}: Unpaid): Promise<Settled> =>
  db.transaction(async (tx): Promise<Settled> => {
    const {id, org, packKey, quantity, credits} = attempt
    await holdBoth(tx, org)
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

/** In the order everybody takes them in. */
const holdBoth = async (tx: Tx, org: string) => {
  const account = await lockBillingAccount(tx, org)
  await holdAccount(tx, org)
  return account
}

export const stateOf = async (db: Db, {org, id}: Pick<Attempt, 'org' | 'id'>): Promise<Settled> =>
  (await findAttempt(db, {org, id}))?.state ?? 'gone'
