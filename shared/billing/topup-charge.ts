import type {Stripe} from 'stripe'
import {findBillingAccount, lockBillingAccount} from '../../sql/billing-accounts.ts'
import type {Pool, Tx} from '../../sql/database.ts'
import {isOpenOrg} from '../../sql/orgs.ts'
import {listPacks} from '../../sql/plans.ts'
import {type Attempt, beginAttempt, endAttempt, readMonth, setMonth} from '../../sql/topups.ts'
import type {Config} from '../config.ts'
import {holdCurrent} from '../credits/balance.ts'
import {obstacleOf} from '../entitlements/standing.ts'
import {atPoint} from '../fault-point.ts'
import type {Log} from '../log.ts'
import {readDefaultCard} from './default-card.ts'
import {assertFresh} from './fresh.ts'
import {metadataOf} from './metadata.ts'
import {PaymentFailure} from './payment-failure.ts'
import type {PaymentProvider} from './payment-provider.ts'
import {idOf} from './subscription.ts'
import type {SoldPack} from './topup-invoice.ts'
import {declineTopup, failTopup, type Settled, type Stop, settleByIntent} from './topup-settle.ts'
import {packsFor} from './topup-trigger.ts'
import {taxBehaviorOf} from './verify/price.ts'

export type Tools = {config: Config; db: Pool; payment: PaymentProvider; log: Log}

/** One that may be charged from now on. `at`: when that was looked at, by this process's own clock, which nobody sets. */
type Begun = Attempt & {at: number}

/**
 * All that has to be known to charge, written down before the card is charged: asked again it is the same to the byte. Null where it is not to be
 * charged, because it cannot be, or because nobody wants it any more: that is looked at in the transaction after which it may be charged.
 */
export const beginTopup = async (tools: Tools, attempt: Attempt): Promise<Begun | null> => {
  const {db} = tools
  const prepared = await prepare(tools, attempt)
  if (typeof prepared === 'string') {
    await failTopup(tools, attempt, prepared)
    return null
  }
  const {create, sold} = prepared
  const at = performance.now()
  return db.transaction(async tx => {
    const {id} = attempt
    const {isWanted, month, now: askedAt} = await lookAgain(tx, attempt, create)
    if (isWanted) return since(at, await beginAttempt(tx, {id, month, params: {askedAt, create, sold}}))
    await endAttempt(tx, {id, state: 'failed'})
    return null
  })
}

const since = (at: number, attempt: Attempt | null): Begun | null => attempt && {...attempt, at}

/** One that may have been charged and is to be asked for again, in the month that is now. Null where it is not wanted any more. */
export const rebookTopup = ({db}: Tools, attempt: Attempt): Promise<Begun | null> => {
  const at = performance.now()
  return db.transaction(async tx => {
    const {isWanted, month} = await lookAgain(tx, attempt, createOf(attempt))
    return isWanted ? since(at, await setMonth(tx, {id: attempt.id, month})) : null
  })
}

/**
 * Holds the org's accounts, and answers whether it wants this charged now: open and in good standing, this pack, so many of it, of this customer, and
 * with room for it in the month it would be charged in. Settings, credits and plans may have changed since it was thought of.
 */
const lookAgain = async (tx: Tx, {id, org, packKey, quantity, credits}: Attempt, {customer}: Stripe.PaymentIntentCreateParams) => {
  const account = await lockBillingAccount(tx, org)
  const {standing, balance} = await holdCurrent(tx, org)
  const {month, counted, now} = await readMonth(tx, {org, except: id})
  const isOn = account?.topupEnabled === true && account.topupPack === packKey && account.customer === customer
  if (!isOn || obstacleOf(standing) !== null || !(await isOpenOrg(tx, org))) return {isWanted: false, month, now}
  const gap = account.topupThreshold! - balance.available
  const wanted = packsFor({gap, room: account.topupMonthlyCap! - counted, each: credits / quantity})
  return {isWanted: quantity <= wanted, month, now}
}

const createOf = ({params}: Attempt) => params.create as unknown as Stripe.PaymentIntentCreateParams

type Prepared = {create: Stripe.PaymentIntentCreateParams; sold: SoldPack}

/** What is asked of the provider, or why nothing can be. */
const prepare = async (tools: Tools, attempt: Attempt): Promise<Prepared | Stop> => {
  const {config, db} = tools
  const {id, org, packKey, quantity, credits} = attempt
  const customer = (await findBillingAccount(db, org))?.customer
  if (!customer) return 'no_card'
  const price = await findPrice(tools, packKey)
  if (price === null) return 'pack_not_sold'
  const card = await readDefaultCard(tools, {org, customer})
  if (card === null) return 'no_card'
  const amount = await totalOf(tools, {customer, price, quantity})
  if (amount === null) return 'refused'
  const create: Stripe.PaymentIntentCreateParams = {
    ...{amount, currency: price.currency, customer, payment_method: card},
    ...{allowed_payment_method_types: ['card'], off_session: true, confirm: true},
    description: `${credits} AI credits`,
    metadata: metadataOf(config, {org, kind: 'autotopup', attempt_id: id, pack_key: packKey, quantity: String(quantity)}),
  }
  const sold = {product: price.product, unitAmount: price.amount, taxBehavior: price.taxBehavior, isTaxed: config.PAYMENT_AUTOMATIC_TAX}
  return {create, sold}
}

type Priced = {id: string; amount: number; currency: string; product: string; taxBehavior: SoldPack['taxBehavior']}
type Buying = {customer: string; price: Priced; quantity: number}

/** With tax where the deployment collects it, as the provider works it out. Null where the provider cannot: it does not know the address. */
const totalOf = async ({config, payment, log}: Tools, {customer, price, quantity}: Buying): Promise<number | null> => {
  if (!config.PAYMENT_AUTOMATIC_TAX) return price.amount * quantity
  const params = {customer, automatic_tax: {enabled: true}, invoice_items: [{price: price.id, quantity}]}
  try {
    const {total, automatic_tax: tax} = await payment.ask('invoice', stripe => stripe.invoices.createPreview(params))
    if (tax.status === 'complete') return total
    log.error({customer, tax: tax.status}, 'the tax of a top-up is not known')
    return null
  } catch (error) {
    if (!(error instanceof PaymentFailure && error.kind === 'refused')) throw error
    log.error({err: error, customer, requestId: error.requestId}, 'the payment provider refuses to work out the tax of a top-up')
    return null
  }
}

/** What one pack costs by now; null where the provider sells it no more, or not by the piece, or gives it away. */
const findPrice = async ({db, payment}: Tools, packKey: string): Promise<Priced | null> => {
  const id = (await listPacks(db)).find(({key}) => key === packKey)?.paymentPriceId
  if (!id) return null
  const price = await payment
    .ask('price', stripe => stripe.prices.retrieve(id))
    .catch(error => {
      if (error instanceof PaymentFailure && error.status === 404) return null
      throw error
    })
  if (!price?.active || price.recurring !== null || !price.unit_amount) return null
  const {unit_amount: amount, currency, product} = price
  return {id, amount, currency, product: idOf(product)!, taxBehavior: taxBehaviorOf(price)}
}

/** One that is known to be declined, or refused, leaves nothing behind that could be paid later. */
export const askTopup = async (tools: Tools, attempt: Begun): Promise<Settled> => {
  const {id, at} = attempt
  try {
    const intent = await tools.payment.ask('payment_intent', async stripe => {
      atPoint('before_topup')
      assertFresh(at)
      // Not tried again by itself: whoever does looks first.
      return stripe.paymentIntents.create(createOf(attempt), {idempotencyKey: `topup:${id}`, maxNetworkRetries: 0})
    })
    atPoint('after_topup')
    return await settleByIntent(tools, attempt, intent)
  } catch (error) {
    if (!(error instanceof PaymentFailure)) throw error
    if (error.kind === 'declined') return settleDeclined(tools, attempt, error)
    if (error.kind !== 'refused' || error.status === 401) throw error
    tools.log.error({err: error, org: attempt.org, attempt: id, requestId: error.requestId}, 'the payment provider refuses a top-up')
    return failTopup(tools, attempt, 'refused')
  }
}

const settleDeclined = async (tools: Tools, attempt: Attempt, {intent, code, declineCode}: PaymentFailure): Promise<Settled> => {
  if (intent === null) return declineTopup(tools, attempt, {intent: null, code: declineCode ?? code})
  const found = await tools.payment.ask('payment_intent', stripe => stripe.paymentIntents.retrieve(intent))
  return settleByIntent(tools, attempt, found)
}
