import type {Call} from './calls.ts'
import {type Behaviour, type Card, testCards} from './cards.ts'
import {complete} from './complete.ts'
import {needCustomer} from './customers.ts'
import {add, change} from './events.ts'
import {page} from './paging.ts'
import {need} from './products.ts'
import {type Decline, declined, invalid, missing} from './refusals.ts'
import type {SimulatorState} from './simulator-state.ts'
import type {Thing} from './store.ts'

export const attachPaymentMethod = ({world, params, ids}: Call): Thing => attachCard(world, ids[0]!, params.customer)

/** Attaches a test card's token as a new card; a card of a customer stays attached to them. */
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
  return add(
    world,
    complete('payment_method', {
      id,
      allow_redisplay: 'unspecified',
      billing_details: {},
      ...meansOf(card, id),
      created: world.clock.now(),
      customer: null,
      metadata: {},
    }),
  )
}

const meansOf = ({brand, last4, behaviour}: Card, id: string) => {
  if (behaviour !== 'later') return {type: 'card', card: cardOf(brand, last4, id)}
  const debit = {bank_code: null, branch_code: null, country: 'DE', fingerprint: id.slice(-16), generated_from: null, last4}
  return {type: 'sepa_debit', sepa_debit: debit}
}

const cardOf = (brand: string, last4: string, id: string) => ({
  brand,
  checks: {address_line1_check: null, address_postal_code_check: null, cvc_check: 'pass'},
  country: 'US',
  display_brand: brand,
  exp_month: 12,
  exp_year: 2031,
  fingerprint: id.slice(-16),
  funding: 'credit',
  generated_from: null,
  last4,
  networks: {available: [brand], preferred: null},
  regulated_status: 'unregulated',
  three_d_secure_usage: {supported: true},
  wallet: null,
})

export const detachPaymentMethod = ({world, ids}: Call): Thing => {
  const card = need(world, 'payment_method', ids[0]!)
  const {customer} = card
  if (customer === null) throw invalid('The payment method you provided is not attached to a customer so detachment is impossible.')
  const owner = world.store.get('customer', customer)
  if (owner?.invoice_settings.default_payment_method === card.id) {
    change(world, owner, {invoice_settings: {...owner.invoice_settings, default_payment_method: null}}, 'customer.updated')
  }
  for (const subscription of world.store.all('subscription')) {
    if (subscription.default_payment_method === card.id) change(world, subscription, {default_payment_method: null})
  }
  return change(world, card, {customer: null}, 'payment_method.detached')
}

export const listPaymentMethods = (call: Call): any => {
  const {customer = call.ids[0], type} = call.params
  return page(
    call,
    call.world.store
      .all('payment_method')
      .filter(one => one.customer === customer && customer !== undefined && (type === undefined || one.type === type)),
  )
}

export const setBehaviour = (world: SimulatorState, card: string, behaviour: Behaviour) => {
  need(world, 'payment_method', card)
  world.store.put({id: card, object: '~card', behaviour, refusesAttach: false})
}

export const behaviourOf = (world: SimulatorState, card: string): Behaviour => world.store.get('~card', card)!.behaviour
