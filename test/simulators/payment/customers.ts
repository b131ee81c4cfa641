import type {Call} from './calls.ts'
import {complete} from './complete.ts'
import {add, change} from './events.ts'
import {mergeMetadata, orNull} from './metadata.ts'
import {only} from './only.ts'
import {page} from './paging.ts'
import {attachCard} from './payment-methods.ts'
import {missing} from './refusals.ts'
import type {SimulatorState} from './simulator-state.ts'
import type {Thing} from './store.ts'
import {cancelNow} from './subscription-end.ts'

export const needCustomer = (world: SimulatorState, id: string, param = 'customer'): Thing => {
  const found = world.store.get('customer', id)
  if (!found || found.deleted) throw missing('customer', id, param)
  return found
}

export const createCustomer = ({world, params}: Call): Thing => {
  const {name, email, description, phone, metadata, balance, payment_method: card} = params
  const id = world.newId('cus')
  const customer = complete('customer', {
    id,
    balance: balance ?? 0,
    created: world.clock.now(),
    currency: null,
    delinquent: false,
    description: orNull(description),
    email: orNull(email),
    name: orNull(name),
    phone: orNull(phone),
    invoice_prefix: id.slice(-8).toUpperCase(),
    next_invoice_sequence: 1,
    preferred_locales: [],
    tax_exempt: 'none',
    metadata: mergeMetadata({}, metadata),
  })
  add(world, customer, 'customer.created')
  if (card !== undefined) attachCard(world, card, id)
  return changeSettings(world, world.store.get('customer', id)!, params)
}

export const updateCustomer = ({world, params, ids}: Call): Thing => {
  const customer = needCustomer(world, ids[0]!, 'id')
  const {name, email, description, phone, metadata, balance} = params
  const patch = {
    name: orNull(name, customer.name),
    email: orNull(email, customer.email),
    description: orNull(description, customer.description),
    phone: orNull(phone, customer.phone),
    balance: balance ?? customer.balance,
    metadata: mergeMetadata(customer.metadata, metadata),
    invoice_settings: settingsOf(world, customer, params),
    address: params.address === undefined ? customer.address : params.address === '' ? null : {...emptyAddress, ...params.address},
  }
  return change(world, customer, patch, 'customer.updated')
}

export const readCustomer = ({world, ids}: Call): Thing => {
  const found = world.store.get('customer', ids[0]!)
  if (!found) throw missing('customer', ids[0]!)
  return found.deleted ? {id: found.id, object: 'customer', deleted: true} : found
}

/** Cancels the subscriptions at once, without refunds. */
export const deleteCustomer = ({world, ids}: Call): Thing => {
  const customer = needCustomer(world, ids[0]!, 'id')
  for (const subscription of world.store.all('subscription')) {
    if (subscription.customer === customer.id && subscription.ended_at === null) cancelNow(world, subscription)
  }
  change(world, customer, {deleted: true}, 'customer.deleted')
  return {id: customer.id, object: 'customer', deleted: true}
}

export const listCustomers = (call: Call): any => {
  const {email} = call.params
  return page(
    call,
    call.world.store.all('customer').filter(one => !one.deleted && (email === undefined || one.email === email)),
  )
}

/** The card for renewals of subscriptions without their own card. */
export const setDefaultCard = (world: SimulatorState, customer: string, card: string | null): Thing => {
  const found = needCustomer(world, customer)
  const settings = {...found.invoice_settings, default_payment_method: card}
  return change(world, found, {invoice_settings: settings}, 'customer.updated')
}

const changeSettings = (world: SimulatorState, customer: Thing, params: Record<string, any>): Thing => {
  const patched: Thing = {...customer, invoice_settings: settingsOf(world, customer, params)}
  if (params.address) patched.address = {...emptyAddress, ...params.address}
  return world.store.put(patched)
}

const emptyAddress = {city: null, country: null, line1: null, line2: null, postal_code: null, state: null}

const settingsOf = (world: SimulatorState, customer: Thing, {invoice_settings: given}: Record<string, any>) => {
  only(given, ['default_payment_method'], 'invoice_settings')
  const card = given?.default_payment_method
  if (card && world.store.get('payment_method', card)?.customer !== customer.id) {
    throw missing('payment_method', card, 'invoice_settings[default_payment_method]')
  }
  const before = customer.invoice_settings
  return {...before, ...(card === undefined ? {} : {default_payment_method: card === '' ? null : card})}
}
