import type {Decline} from './refusals.ts'

/** What a bank does when it is asked for money. `slow`: it takes its time and says yes; `later`: it says so days after. */
export type Behaviour = 'ok' | 'slow' | 'later' | Exclude<Decline, 'subscription_payment_intent_requires_action'>

/** `refusesAttach`: the bank says no already when the card is added. */
export type Card = {behaviour: Behaviour; brand: string; last4: string; refusesAttach?: boolean}

/** The provider's own test cards, by token; the ones from `pm_card_later…` on are the stand-in's: they attach and fail when charged. */
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
  /** No card at all: Checkout takes it for single payments. */
  pm_bankDebit: {behaviour: 'later', brand: 'sepa_debit', last4: '3000'},
  pm_card_slow: {behaviour: 'slow', brand: 'visa', last4: '5556'},
}

/** What a person types at a page, and the token it stands for. */
export const cardNumbers: Record<string, string> = {
  '4242424242424242': 'pm_card_visa',
  '5555555555554444': 'pm_card_mastercard',
  '4000000000000002': 'pm_card_chargeDeclined',
  '4000000000009995': 'pm_card_chargeDeclinedInsufficientFunds',
  '4000000000000069': 'pm_card_chargeDeclinedExpiredCard',
  '4000000000000341': 'pm_card_chargeCustomerFail',
  '4000002760003184': 'pm_card_authenticationRequired',
}
