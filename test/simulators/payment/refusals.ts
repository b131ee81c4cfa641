import type {Thing} from './store.ts'

/** An error answer in the provider's envelope. `keep`: earlier effects of the call are not rolled back. */
export class Refusal extends Error {
  status: number
  error: Record<string, unknown>
  keep: boolean
  constructor(status: number, error: {type: string; message: string; [name: string]: unknown}, {keep = false} = {}) {
    super(error.message)
    this.status = status
    this.error = error
    this.keep = keep
  }
}

export const invalid = (message: string, more: {param?: string; code?: string} = {}) =>
  new Refusal(400, {type: 'invalid_request_error', message, ...more})

export const missing = (object: string, id: string, param = 'id') =>
  new Refusal(404, {
    type: 'invalid_request_error',
    code: 'resource_missing',
    message: `No such ${nameOf(object)}: '${id}'`,
    param,
  })

const nameOf = (object: string) =>
  ({payment_method: 'PaymentMethod', 'checkout.session': 'checkout.session', subscription_item: 'subscription item'})[object] ?? object

export const unauthorised = (message: string) => new Refusal(401, {type: 'invalid_request_error', message})

/** The wording of https://github.com/stripe/stripe-node/issues/2246. */
export const forbidden = () =>
  new Refusal(403, {
    type: 'invalid_request_error',
    message: "The provided key 'rk_test_****' does not have the required permissions for this endpoint on account 'acct_stand_in'.",
  })

export const declined = (decline: Decline, more: {payment_intent?: Thing; payment_method?: Thing; charge?: string} = {}, keep = false) =>
  new Refusal(402, {type: 'card_error', ...declines[decline], ...more}, {keep})

export type Decline = keyof typeof declines

export const declines = {
  card_declined: {code: 'card_declined', decline_code: 'generic_decline', message: 'Your card was declined.'},
  insufficient_funds: {code: 'card_declined', decline_code: 'insufficient_funds', message: 'Your card has insufficient funds.'},
  expired_card: {code: 'expired_card', decline_code: 'expired_card', message: 'Your card has expired.'},
  authentication_required: {
    code: 'authentication_required',
    decline_code: 'authentication_required',
    message: 'Your card was declined. This transaction requires authentication.',
  },
  subscription_payment_intent_requires_action: {
    code: 'subscription_payment_intent_requires_action',
    message:
      'Payment for this subscription requires additional user action before it can be completed successfully. Payment can be completed using the PaymentIntent associated with `subscription.latest_invoice`.',
  },
} as const
