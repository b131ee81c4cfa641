import type {Stripe} from 'stripe'
import type {CreditPack, PricedPlan} from '../../sql/plans.ts'
import type {Config} from '../config.ts'
import {metadataOf} from './metadata.ts'
import type {Interval} from './subscription.ts'

type Params = Stripe.Checkout.SessionCreateParams

export type ReturnUrls = {successUrl: string; cancelUrl: string}
type CheckoutParamsInput = ReturnUrls & {config: Config; id: string; org: string; person: string; customer: string}

/**
 * Returns the parameters that all payment pages have. The Checkout's row stores them, and each call sends them unchanged, so that a
 * repeated call is identical to the byte.
 */
const common = ({config, org, customer, successUrl, cancelUrl}: CheckoutParamsInput) =>
  ({
    customer,
    client_reference_id: org,
    success_url: successUrl,
    cancel_url: cancelUrl,
    // The name and address that the payer enters appear on the invoice.
    customer_update: {name: 'auto', address: 'auto'},
    tax_id_collection: {enabled: true},
    ...(config.PAYMENT_PROMOTION_CODES && {allow_promotion_codes: true}),
    // The tax depends on the payer's location.
    ...(config.PAYMENT_AUTOMATIC_TAX && {automatic_tax: {enabled: true}, billing_address_collection: 'required' as const}),
  }) satisfies Params

/**
 * The org's trial. A plan that is bought with `afterTrial` begins at `end`, the end of the trial. After `expiresAt`, the page cannot be paid. Both in
 * seconds since 1970.
 */
export type Trial = {end: number; expiresAt: number}
type OfPlan = CheckoutParamsInput & {seq: number; plan: PricedPlan; price: string; interval: Interval; trial: Trial | null}

/** Returns the parameters of a page for a plan. The page accepts only cards, and stores the card, because later periods are charged to it. */
export const planParams = (of: OfPlan): Params => {
  const {config, id, org, person, seq, plan, price, interval, trial} = of
  const bought = {plan_key: plan.key, plan_version_id: plan.id, interval, after_trial: trial ? 'true' : null}
  const metadata = metadataOf(config, {org, kind: 'plan', checkout_id: id, requested_by: person, ...bought})
  return {
    mode: 'subscription',
    ...common(of),
    line_items: [{price, quantity: 1}],
    allowed_payment_method_types: ['card'],
    payment_method_collection: 'always',
    ...(trial && {expires_at: trial.expiresAt}),
    metadata: {...metadata, checkout_seq: String(seq)},
    subscription_data: {
      billing_mode: {type: 'flexible'},
      metadata,
      ...(trial && {trial_end: trial.end, trial_settings: {end_behavior: {missing_payment_method: 'cancel'}}}),
    },
  }
}

type OfPack = CheckoutParamsInput & {pack: CreditPack & {paymentPriceId: string}; quantity: number}

/**
 * Returns the parameters of a page for AI credits. The page does not limit the methods of payment, so a payment may take days. A card is
 * stored for top-ups.
 */
export const packParams = (of: OfPack): Params => {
  const {config, id, org, person, pack, quantity} = of
  const metadata = metadataOf(config, {org, kind: 'credit_pack', checkout_id: id, requested_by: person, pack_key: pack.key})
  return {
    mode: 'payment',
    ...common(of),
    line_items: [{price: pack.paymentPriceId, quantity}],
    metadata,
    invoice_creation: {enabled: true, invoice_data: {metadata}},
    payment_intent_data: {setup_future_usage: 'off_session', metadata},
  }
}
