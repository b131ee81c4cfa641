import {type Decline, declined, Refusal} from './refusals.ts'

/** The answer to an unpaid update or new subscription. */
export const refuseUnpaid = (failure: Decline | 'no card'): Refusal => {
  if (failure === 'no card') return noCard()
  return declined(failure === 'authentication_required' ? 'subscription_payment_intent_requires_action' : failure)
}

export const noCard = () =>
  new Refusal(400, {
    type: 'invalid_request_error',
    code: 'resource_missing',
    message:
      'This customer has no attached payment source or default payment method. Please consider adding a default payment method. For more information, visit https://stripe.com/docs/billing/payment-methods/setting#payment-method-priority.',
  })
