import type {Stripe} from 'stripe'
import {findBillingAccount, lockBillingAccount} from '../../sql/billing-accounts.ts'
import type {Pool, Tx} from '../../sql/database.ts'
import {isOpenOrg} from '../../sql/orgs.ts'
import {listPacks} from '../../sql/plans.ts'
import {type Attempt, beginAttempt, endAttempt, readMonth, setMonth} from '../../sql/topups.ts'
import type {Config} from '../config.ts'
import {atPoint} from '../fault-point.ts'
import type {Log} from '../telemetry/log.ts'
import {holdCurrent} from './credits/balance.ts'
import {readDefaultCard} from './default-card.ts'
import {obstacleOf} from './entitlements/plan-status.ts'
import {assertFresh} from './fresh.ts'
import {metadataOf} from './metadata.ts'
import {nullWhereGone, PaymentFailure} from './payment-failure.ts'
import type {PaymentProvider} from './payment-provider.ts'
import {idOf} from './subscription.ts'
import type {SoldPack} from './topup-invoice.ts'
import {declineTopup, failTopup, settleByIntent, type TopupState, type TopupStop} from './topup-settle.ts'
import {packsFor} from './topup-trigger.ts'
import {taxBehaviorOf} from './verify/price.ts'

export type TopupDeps = {config: Config; db: Pool; payment: PaymentProvider; log: Log}

/** A top-up that may be charged now. `at`: when this was decided, by `performance.now()`. */
type StartedTopup = Attempt & {at: number}

/**
 * Begins a top-up: stores all parameters before the charge, so that a repeated call is identical to the byte. Returns null if the top-up cannot be
 * charged or is no longer wanted.
 */
export const beginTopup = async (deps: TopupDeps, attempt: Attempt): Promise<StartedTopup | null> => {
  const {db} = deps
  const prepared = await prepare(deps, attempt)
  if (typeof prepared === 'string') {
    await failTopup(deps, attempt, prepared)
    return null
  }
  const {create, sold} = prepared
  const at = performance.now()
  return db.transaction(async tx => {
    const {id} = attempt
    const {isWanted, month, now: askedAt} = await readAgain(tx, attempt, create)
    if (isWanted) return since(at, await beginAttempt(tx, {id, month, params: {askedAt, create, sold}}))
    await endAttempt(tx, {id, state: 'failed'})
    return null
  })
}

const since = (at: number, attempt: Attempt | null): StartedTopup | null => attempt && {...attempt, at}

/**
 * Prepares a repeated call for a top-up that may already be charged. Counts the top-up in the current month. Null if the top-up is no
 * longer wanted.
 */
export const rebookTopup = ({db}: TopupDeps, attempt: Attempt): Promise<StartedTopup | null> => {
  const at = performance.now()
  return db.transaction(async tx => {
    const {isWanted, month} = await readAgain(tx, attempt, createOf(attempt))
    return isWanted ? since(at, await setMonth(tx, {id: attempt.id, month})) : null
  })
}

/**
 * Locks the org's accounts and checks whether the top-up is still wanted. Settings, AI credits and plan may have changed since the top-up was
 * created. The missing credits must still require its quantity, and the monthly cap must allow it.
 */
const readAgain = async (tx: Tx, {id, org, packKey, quantity, credits}: Attempt, {customer}: Stripe.PaymentIntentCreateParams) => {
  const account = await lockBillingAccount(tx, org)
  const {planStatus, balance} = await holdCurrent(tx, org)
  const {month, counted, now} = await readMonth(tx, {org, except: id})
  const isOn = account?.topupEnabled === true && account.topupPack === packKey && account.customer === customer
  if (!isOn || obstacleOf(planStatus) !== null || !(await isOpenOrg(tx, org))) return {isWanted: false, month, now}
  const gap = account.topupThreshold! - balance.available
  const wanted = packsFor({gap, room: account.topupMonthlyCap! - counted, each: credits / quantity})
  return {isWanted: quantity <= wanted, month, now}
}

const createOf = ({params}: Attempt) => params.create as unknown as Stripe.PaymentIntentCreateParams

type PreparedCharge = {create: Stripe.PaymentIntentCreateParams; sold: SoldPack}

const prepare = async (deps: TopupDeps, attempt: Attempt): Promise<PreparedCharge | TopupStop> => {
  const {config, db} = deps
  const {id, org, packKey, quantity, credits} = attempt
  const customer = (await findBillingAccount(db, org))?.customer
  if (!customer) return 'no_card'
  const price = await findPrice(deps, packKey)
  if (price === null) return 'pack_not_sold'
  const card = await readDefaultCard(deps, {org, customer})
  if (card === null) return 'no_card'
  const amount = await totalOf(deps, {customer, price, quantity})
  if (amount === null) return 'refused'
  const create: Stripe.PaymentIntentCreateParams = {
    amount,
    currency: price.currency,
    customer,
    payment_method: card,
    allowed_payment_method_types: ['card'],
    off_session: true,
    confirm: true,
    description: `${credits} AI credits`,
    metadata: metadataOf(config, {org, kind: 'autotopup', attempt_id: id, pack_key: packKey, quantity: String(quantity)}),
  }
  const sold = {product: price.product, unitAmount: price.amount, taxBehavior: price.taxBehavior, isTaxed: config.PAYMENT_AUTOMATIC_TAX}
  return {create, sold}
}

type PricedPack = {id: string; amount: number; currency: string; product: string; taxBehavior: SoldPack['taxBehavior']}
type TotalInput = {customer: string; price: PricedPack; quantity: number}

/**
 * Returns the total in the currency's smallest unit, including tax if the deployment collects tax. Null if the provider cannot compute the
 * tax, for example because the address is unknown.
 */
const totalOf = async ({config, payment, log}: TopupDeps, {customer, price, quantity}: TotalInput): Promise<number | null> => {
  if (!config.PAYMENT_AUTOMATIC_TAX) return price.amount * quantity
  const params = {customer, automatic_tax: {enabled: true}, discounts: '' as const, invoice_items: [{price: price.id, quantity}]}
  try {
    const {total, automatic_tax: tax} = await payment.ask('invoice', stripe => stripe.invoices.createPreview(params))
    if (tax.status === 'complete') return total
    log.error({customer, tax: tax.status}, 'the tax of a top-up is unknown')
    return null
  } catch (error) {
    if (!(error instanceof PaymentFailure && error.kind === 'refused')) throw error
    log.error({err: error, customer, requestId: error.requestId}, 'the payment provider refused to compute the tax of a top-up')
    return null
  }
}

/**
 * Returns the current price of one pack. Null if the pack has no price, or if the price is unknown, archived, recurring or without an
 * amount.
 */
const findPrice = async ({db, payment}: TopupDeps, packKey: string): Promise<PricedPack | null> => {
  const id = (await listPacks(db)).find(({key}) => key === packKey)?.paymentPriceId
  if (!id) return null
  const price = await payment.ask('price', stripe => stripe.prices.retrieve(id)).catch(nullWhereGone)
  if (!price?.active || price.recurring !== null || !price.unit_amount) return null
  const {unit_amount: amount, currency, product} = price
  return {id, amount, currency, product: idOf(product)!, taxBehavior: taxBehaviorOf(price)}
}

/**
 * Charges the top-up. After a declined or refused attempt, no payment remains that could be paid later. Throws a PaymentFailure if the outcome is
 * unknown, or if the provider is busy or rejects the key.
 */
export const chargeTopup = async (deps: TopupDeps, attempt: StartedTopup): Promise<TopupState> => {
  const {id, at} = attempt
  try {
    const intent = await deps.payment.ask('payment_intent', async stripe => {
      atPoint('before_topup')
      assertFresh(at)
      // The SDK must not retry, because the outcome must be checked before every retry.
      return stripe.paymentIntents.create(createOf(attempt), {idempotencyKey: `topup:${id}`, maxNetworkRetries: 0})
    })
    atPoint('after_topup')
    return await settleByIntent(deps, attempt, intent)
  } catch (error) {
    if (!(error instanceof PaymentFailure)) throw error
    if (error.kind === 'declined') return settleDeclined(deps, attempt, error)
    if (error.kind !== 'refused' || error.status === 401) throw error
    deps.log.error({err: error, org: attempt.org, attempt: id, requestId: error.requestId}, 'the payment provider refused a top-up')
    return failTopup(deps, attempt, 'refused')
  }
}

const settleDeclined = async (deps: TopupDeps, attempt: Attempt, {intent, code, declineCode}: PaymentFailure): Promise<TopupState> => {
  if (intent === null) return declineTopup(deps, attempt, {intent: null, code: declineCode ?? code})
  const found = await deps.payment.ask('payment_intent', stripe => stripe.paymentIntents.retrieve(intent))
  return settleByIntent(deps, attempt, found)
}
