import type {Decline} from './refusals.ts'

/** The behaviour of a bank. `slow`: approves after a delay; `later`: decides days later. */
export type Behaviour = 'ok' | 'slow' | 'later' | Exclude<Decline, 'subscription_payment_intent_requires_action'>

/** `refusesAttach`: the bank refuses already when the card is added. */
export type Card = {behaviour: Behaviour; brand: string; last4: string; refusesAttach?: boolean}

/** The provider's test cards by token; those from `pm_card_later…` on are our own: they attach, and fail when charged. */
export const testCards: Record<string, Card> = {
  pm_card_visa: {behaviour: 'ok', brand: 'visa', last4: '4242'},
  pm_card_mastercard: {behaviour: 'ok', brand: 'mastercard', last4: '4444'},
  pm_card_chargeDeclined: {behaviour: 'card_declined', brand: 'visa', last4: '0002', refusesAttach: true},
  pm_card_visa_chargeDeclined: {behaviour: 'card_declined', brand: 'visa', last4: '0002', refusesAttach: true},
  pm_card_chargeDeclinedInsufficientFunds: {behaviour: 'insufficient_funds', brand: 'visa', last4: '9995', refusesAttach: true},
  pm_card_visa_chargeDeclinedInsufficientFunds: {behaviour: 'insufficient_funds', brand: 'visa', last4: '9995', refusesAttach: true},
  pm_card_chargeDeclinedExpiredCard: {behaviour: 'expired_card', brand: 'visa', last4: '0069', refusesAttach: true},
  pm_card_visa_chargeDeclinedExpiredCard: {behaviour: 'expired_card', brand: 'visa', last4: '0069', refusesAttach: true},
  pm_card_chargeCustomerFail: {behaviour: 'card_declined', brand: 'visa', last4: '0341'},
  pm_card_authenticationRequired: {behaviour: 'authentication_required', brand: 'visa', last4: '3184'},
  pm_card_laterInsufficientFunds: {behaviour: 'insufficient_funds', brand: 'visa', last4: '9987'},
  pm_card_laterExpired: {behaviour: 'expired_card', brand: 'visa', last4: '0070'},
  /** No card: Checkout accepts a bank debit for single payments. */
  pm_bankDebit: {behaviour: 'later', brand: 'sepa_debit', last4: '3000'},
  pm_card_slow: {behaviour: 'slow', brand: 'visa', last4: '5556'},
}

/** The card number entered at a page, and its token. */
export const cardNumbers: Record<string, string> = {
  '4242424242424242': 'pm_card_visa',
  '5555555555554444': 'pm_card_mastercard',
  '4000000000000002': 'pm_card_chargeDeclined',
  '4000000000009995': 'pm_card_chargeDeclinedInsufficientFunds',
  '4000000000000069': 'pm_card_chargeDeclinedExpiredCard',
  '4000000000000341': 'pm_card_chargeCustomerFail',
  '4000002760003184': 'pm_card_authenticationRequired',
}
