import type {Stripe} from 'stripe'
import type {Pack, PricedPlan} from '../../sql/plans.ts'
import type {Config} from '../config.ts'
import {metadataOf} from './metadata.ts'
import type {Interval} from './subscription.ts'

type Params = Stripe.Checkout.SessionCreateParams

export type ReturnUrls = {successUrl: string; cancelUrl: string}
type Of = ReturnUrls & {config: Config; id: string; org: string; person: string; customer: string}

/** Frozen on the row and sent as they are: a repeated call is the same to the byte. */
const common = ({config, org, customer, successUrl, cancelUrl}: Of) =>
  ({
    ...{customer, client_reference_id: org, success_url: successUrl, cancel_url: cancelUrl},
    // What the payer types at the page is what stands on the invoice.
    ...{customer_update: {name: 'auto', address: 'auto'}, tax_id_collection: {enabled: true}},
    ...(config.PAYMENT_PROMOTION_CODES && {allow_promotion_codes: true}),
    // The tax depends on where the payer is.
    ...(config.PAYMENT_AUTOMATIC_TAX && {automatic_tax: {enabled: true}, billing_address_collection: 'required' as const}),
  }) satisfies Params

/** When a trial of ours ends, and until when the page may be paid. In seconds. */
export type Trial = {end: number; expiresAt: number}
type OfPlan = Of & {seq: number; plan: PricedPlan; price: string; interval: Interval; trial: Trial | null}

/** By card alone, and it is kept: the next periods are collected from it. */
export const planParams = (of: OfPlan): Params => {
  const {config, id, org, person, seq, plan, price, interval, trial} = of
  const bought = {plan_key: plan.key, plan_version_id: plan.id, interval, after_trial: trial ? 'true' : null}
  const metadata = metadataOf(config, {org, kind: 'plan', checkout_id: id, requested_by: person, ...bought})
  return {
    ...{mode: 'subscription', ...common(of), line_items: [{price, quantity: 1}]},
    ...{allowed_payment_method_types: ['card'], payment_method_collection: 'always'},
    ...(trial && {expires_at: trial.expiresAt}),
    metadata: {...metadata, checkout_seq: String(seq)},
    subscription_data: {
      ...{billing_mode: {type: 'flexible'}, metadata},
      ...(trial && {trial_end: trial.end, trial_settings: {end_behavior: {missing_payment_method: 'cancel'}}}),
    },
  }
}

type OfPack = Of & {pack: Pack & {paymentPriceId: string}; quantity: number}

/** By whatever the provider offers, also what takes days; a card is kept for top-ups. */
export const packParams = (of: OfPack): Params => {
  const {config, id, org, person, pack, quantity} = of
  const metadata = metadataOf(config, {org, kind: 'credit_pack', checkout_id: id, requested_by: person, pack_key: pack.key})
  return {
    ...{mode: 'payment', ...common(of), line_items: [{price: pack.paymentPriceId, quantity}], metadata},
    invoice_creation: {enabled: true, invoice_data: {metadata}},
    payment_intent_data: {setup_future_usage: 'off_session', metadata},
  }
}
