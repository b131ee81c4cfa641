import type {Call} from './calls.ts'
import {change, create, listOf, mergeMetadata, need, orNull} from './objects.ts'
import type {SimulatorState} from './state.ts'
import type {Thing} from './store.ts'
import {cancelNow} from './subscriptions.ts'
import {type Decline, declined, invalid, missing, only} from './wire.ts'

export const needCustomer = (world: SimulatorState, id: string, param = 'customer'): Thing => {
  const found = world.store.get('customer', id)
  if (!found || found.deleted) throw missing('customer', id, param)
  return found
}

export const createCustomer = ({world, params}: Call): Thing => {
  const {metadata, balance = 0, payment_method: card} = params
  const {id} = addCustomer(world, {balance, currency: null, metadata: mergeMetadata({}, metadata), ...textsOf(params)})
  if (card !== undefined) attachCard(world, card, id)
  const customer = world.store.get('customer', id)!
  const address = params.address ? {address: {...emptyAddress, ...params.address}} : {}
  return world.store.put({...customer, invoice_settings: settingsOf(world, customer, params), ...address})
}

export const addCustomer = (world: SimulatorState, fields: Record<string, unknown>): Thing => {
  const id = world.newId('cus')
  const common = {delinquent: false, invoice_prefix: id.slice(-8).toUpperCase(), next_invoice_sequence: 1, preferred_locales: []}
  return create(world, 'customer', id, {...common, tax_exempt: 'none', ...fields}, 'customer.created')
}

export const updateCustomer = ({world, params, ids}: Call): Thing => {
  const customer = needCustomer(world, ids[0]!, 'id')
  const {metadata, balance = customer.balance, address} = params
  const patch = {
    ...textsOf(params, customer),
    balance,
    metadata: mergeMetadata(customer.metadata, metadata),
    invoice_settings: settingsOf(world, customer, params),
    address: address === undefined ? customer.address : address === '' ? null : {...emptyAddress, ...address},
  }
  return change(world, customer, patch, 'customer.updated')
}

const textsOf = (params: Call['params'], before: Record<string, any> = {}) =>
  Object.fromEntries(['name', 'email', 'description', 'phone'].map(name => [name, orNull(params[name], before[name])]))

export const readCustomer = ({world, ids}: Call): Thing => {
  const found = world.store.get('customer', ids[0]!)
  if (!found) throw missing('customer', ids[0]!)
  return found.deleted ? {id: found.id, object: 'customer', deleted: true} : found
}

/** Deletes a customer, and cancels their subscriptions at once and without refunds. */
export const deleteCustomer = ({world, ids}: Call): Thing => {
  const customer = needCustomer(world, ids[0]!, 'id')
  for (const subscription of world.store.all('subscription')) {
    if (subscription.customer === customer.id && subscription.ended_at === null) cancelNow(world, subscription)
  }
  change(world, customer, {deleted: true}, 'customer.deleted')
  return {id: customer.id, object: 'customer', deleted: true}
}

export const listCustomers = listOf('customer', ['email'], () => customer => !customer.deleted)

/** Sets the card for renewals of subscriptions without a card of their own. */
export const setDefaultCard = (world: SimulatorState, customer: Thing, card: string | null): Thing => {
  const settings = {...customer.invoice_settings, default_payment_method: card}
  return change(world, customer, {invoice_settings: settings}, 'customer.updated')
}

export const emptyAddress = {city: null, country: null, line1: null, line2: null, postal_code: null, state: null}

const settingsOf = (world: SimulatorState, customer: Thing, {invoice_settings: given}: Call['params']) => {
  only(given, ['default_payment_method'], 'invoice_settings')
  const card = given?.default_payment_method
  if (card && world.store.get('payment_method', card)?.customer !== customer.id) {
    throw missing('payment_method', card, 'invoice_settings[default_payment_method]')
  }
  return {...customer.invoice_settings, ...(card === undefined ? {} : {default_payment_method: orNull(card)})}
}

export const attachPaymentMethod = ({world, params, ids}: Call): Thing => attachCard(world, ids[0]!, params.customer)

/** Attaches a card, or the token of a test card as a new card. Refuses a card that another customer has. */
export const attachCard = (world: SimulatorState, idOrToken: string, customer: string): Thing => {
  needCustomer(world, customer)
  const card = world.store.get('payment_method', idOrToken) ?? newCard(world, idOrToken)
  if (card.customer === customer) return card
  if (card.customer !== null) throw invalid('The payment method you provided has already been attached to a customer.')
  const {behaviour, refusesAttach} = world.store.get('~card', card.id)!
  if (behaviour === 'later') throw new TypeError('The stand-in takes a bank debit at Checkout only')
  if (refusesAttach) throw declined(behaviour as Decline)
  return change(world, card, {customer}, 'payment_method.attached')
}

export const newCard = (world: SimulatorState, token: string): Thing => {
  const card = testCards[token]
  if (!card) throw missing('payment_method', token, 'payment_method')
  const id = world.newId('pm')
  world.store.put({id, object: '~card', behaviour: card.behaviour, refusesAttach: card.refusesAttach === true})
  const fields = {allow_redisplay: 'unspecified', billing_details: {}, customer: null, metadata: {}}
  return create(world, 'payment_method', id, {...fields, ...meansOf(card, id)})
}

const meansOf = ({brand, last4, behaviour}: Card, id: string) => {
  const common = {fingerprint: id.slice(-16), generated_from: null, last4}
  if (behaviour === 'later') return {type: 'sepa_debit', sepa_debit: {bank_code: null, branch_code: null, country: 'DE', ...common}}
  const checks = {address_line1_check: null, address_postal_code_check: null, cvc_check: 'pass'}
  const networks = {available: [brand], preferred: null}
  const rest = {regulated_status: 'unregulated', three_d_secure_usage: {supported: true}, wallet: null}
  const validity = {country: 'US', exp_month: 12, exp_year: 2031, funding: 'credit'}
  return {type: 'card', card: {brand, display_brand: brand, checks, networks, ...validity, ...common, ...rest}}
}

export const detachPaymentMethod = ({world, ids}: Call): Thing => {
  const card = need(world, 'payment_method', ids[0]!)
  const {customer} = card
  if (customer === null) throw invalid('The payment method you provided is not attached to a customer so detachment is impossible.')
  const owner = world.store.get('customer', customer)
  if (owner?.invoice_settings.default_payment_method === card.id) setDefaultCard(world, owner, null)
  for (const subscription of world.store.all('subscription')) {
    if (subscription.default_payment_method === card.id) change(world, subscription, {default_payment_method: null})
  }
  return change(world, card, {customer: null}, 'payment_method.detached')
}

export const listPaymentMethods = (call: Call): any => {
  const {customer = call.ids[0]} = call.params
  return listOf('payment_method', ['type'], () => one => customer !== undefined && one.customer === customer)(call)
}

export const setBehaviour = (world: SimulatorState, card: string, behaviour: Behaviour) => {
  need(world, 'payment_method', card)
  world.store.put({id: card, object: '~card', behaviour, refusesAttach: false})
}

export const behaviourOf = (world: SimulatorState, card: string): Behaviour => world.store.get('~card', card)!.behaviour

/** How a bank answers a charge. `slow`: approves after a delay; `later`: decides days later. */
export type Behaviour = 'ok' | 'slow' | 'later' | Exclude<Decline, 'subscription_payment_intent_requires_action'>

/** A test card. `refusesAttach`: the bank declines when the card is attached. */
type Card = {behaviour: Behaviour; brand: string; last4: string; refusesAttach?: boolean}

/** Test cards by token. The provider has those up to `pm_card_authenticationRequired`; the others exist only here. */
const testCards: Record<string, Card> = {
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
  /** A bank debit, not a card. Only Checkout accepts it, for single payments. */
  pm_bankDebit: {behaviour: 'later', brand: 'sepa_debit', last4: '3000'},
  pm_card_slow: {behaviour: 'slow', brand: 'visa', last4: '5556'},
}

/** The tokens of the card numbers that a person enters at a page. */
export const cardNumbers: Record<string, string> = {
  '4242424242424242': 'pm_card_visa',
  '5555555555554444': 'pm_card_mastercard',
  '4000000000000002': 'pm_card_chargeDeclined',
  '4000000000009995': 'pm_card_chargeDeclinedInsufficientFunds',
  '4000000000000069': 'pm_card_chargeDeclinedExpiredCard',
  '4000000000000341': 'pm_card_chargeCustomerFail',
  '4000002760003184': 'pm_card_authenticationRequired',
}
