import type {Call} from './calls.ts'
import {attachCard, needCustomer, setDefaultCard} from './customers.ts'
import {change, create, mergeMetadata, need, orNull} from './objects.ts'
import {attempt, type SimulatorState} from './state.ts'
import type {Thing} from './store.ts'
import {cancelNow, cancelPatch, changeSubscription, earliestEnd} from './subscriptions.ts'
import {invalid} from './wire.ts'

export const createConfiguration = ({world, params}: Call): Thing => {
  const {business_profile: profile, default_return_url: url, features, metadata, name, login_page: login} = params
  const all = world.store.all('billing_portal.configuration')
  const fields = {
    active: true,
    business_profile: {headline: null, privacy_policy_url: null, terms_of_service_url: null, ...profile},
    default_return_url: orNull(url),
    features: featuresOf(blankFeatures, features),
    is_default: all.length === 0,
    login_page: {enabled: login?.enabled === true},
    metadata: mergeMetadata({}, metadata),
    name: orNull(name),
    updated: world.clock.now(),
  }
  return create(world, 'billing_portal.configuration', world.newId('bpc'), fields, 'billing_portal.configuration.created')
}

export const updateConfiguration = ({world, params, ids}: Call): Thing => {
  const configuration = need(world, 'billing_portal.configuration', ids[0]!)
  const {active = configuration.active, business_profile: profile, default_return_url: url, features, metadata} = params
  const patch = {
    active,
    business_profile: {...configuration.business_profile, ...profile},
    default_return_url: orNull(url, configuration.default_return_url),
    features: featuresOf(configuration.features, features),
    metadata: mergeMetadata(configuration.metadata, metadata),
    updated: world.clock.now(),
  }
  return change(world, configuration, patch, 'billing_portal.configuration.updated')
}

const blankFeatures: Record<string, any> = {
  customer_update: {allowed_updates: [], enabled: false},
  invoice_history: {enabled: false},
  payment_method_update: {enabled: false, payment_method_configuration: null},
  subscription_cancel: {
    cancellation_reason: {enabled: false, feedback_options: [], options: []},
    enabled: false,
    mode: 'at_period_end',
    proration_behavior: 'none',
  },
  subscription_pause: {duration: {interval_options: [], type: 'indefinite'}, enabled: false},
  subscription_update: {
    billing_cycle_anchor: null,
    default_allowed_updates: [],
    enabled: false,
    products: null,
    proration_behavior: 'none',
    schedule_at_period_end: {conditions: []},
    trial_update_behavior: 'end_trial',
  },
}

const featuresOf = (before: Record<string, any>, given: Record<string, any> = {}) =>
  Object.fromEntries(Object.entries(before).map(([name, feature]) => [name, {...feature, ...given[name]}]))

export const createPortal = ({world, params}: Call): Thing => {
  const {customer, configuration: given, return_url: url, locale} = params
  if (customer === undefined) throw invalid('Missing required param: customer.', {code: 'parameter_missing', param: 'customer'})
  needCustomer(world, customer)
  const configuration = given
    ? need(world, 'billing_portal.configuration', given, 'configuration')
    : world.store.all('billing_portal.configuration').find(one => one.is_default)
  if (!configuration) {
    throw invalid('You can’t create a portal session in test mode until you save your customer portal settings in test mode.')
  }
  const id = world.newId('bps')
  const fields = {
    configuration: configuration.id,
    customer,
    locale: locale ?? null,
    return_url: url ?? configuration.default_return_url,
    url: `${world.baseUrl}/p/session/${id}`,
  }
  return create(world, 'billing_portal.session', id, fields, 'billing_portal.session.created')
}

export type PortalAct = {do: 'change card'; card: string} | {do: 'cancel' | 'take back'; subscription: string}

export const actAtPortal = (world: SimulatorState, sessionId: string, act: PortalAct): Thing =>
  attempt(world, () => {
    const session = need(world, 'billing_portal.session', sessionId)
    const {features} = need(world, 'billing_portal.configuration', session.configuration)
    if (act.do === 'change card') {
      if (!features.payment_method_update.enabled) throw invalid('The portal does not change cards.')
      return changeCard(world, session.customer, act.card)
    }
    const subscription = need(world, 'subscription', act.subscription)
    if (subscription.customer !== session.customer || subscription.ended_at !== null)
      throw invalid('This is not the customer’s subscription.')
    if (!features.subscription_cancel.enabled) throw invalid('The portal does not cancel.')
    if (subscription.schedule !== null) throw invalid('The portal does not cancel what is on a schedule.')
    if (act.do === 'take back') return changeSubscription(world, subscription, cancelPatch(world, subscription, null))
    return features.subscription_cancel.mode === 'immediately' ? cancelNow(world, subscription) : cancel(world, subscription)
  })

/** Attaches a card as the default of the customer and of their subscriptions that have a card of their own. */
const changeCard = (world: SimulatorState, customer: string, token: string): Thing => {
  const card = attachCard(world, token, customer)
  for (const subscription of world.store.all('subscription')) {
    const isTheirs = subscription.customer === customer && subscription.ended_at === null
    if (isTheirs && subscription.default_payment_method !== null) changeSubscription(world, subscription, {default_payment_method: card.id})
  }
  setDefaultCard(world, needCustomer(world, customer), card.id)
  return card
}

/**
 * Cancels at the end of the period. In flexible billing mode, the portal sets `cancel_at` and not `cancel_at_period_end`. For items of mixed
 * intervals, the stand-in assumes the earliest period end, to which `cancel_at_period_end` resolves.
 */
const cancel = (world: SimulatorState, subscription: Thing): Thing => {
  const isFlag = subscription.billing_mode.type === 'classic'
  return changeSubscription(world, subscription, cancelPatch(world, subscription, earliestEnd(subscription), isFlag))
}
