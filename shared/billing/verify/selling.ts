import type {Stripe} from 'stripe'
import type {Pool} from '../../../sql/database.ts'
import {listPacks, type PaymentAmounts, setPackAmounts, setPlanAmounts} from '../../../sql/plans.ts'
import type {Config} from '../../config.ts'
import type {Log} from '../../log.ts'
import {EVENT_TYPES} from '../events/meaning.ts'
import {listPlansForSale} from '../offer.ts'
import {nullWhereGone} from '../payment-failure.ts'
import type {PaymentProvider} from '../payment-provider.ts'
import {findMissingPermissions} from './key-permissions.ts'
import {findPackProblems, findPlanProblems, type VerifiedIds} from './payment-ids.ts'

type Tools = {config: Config; db: Pool; payment: PaymentProvider}

/** `about`: a plan version, a pack, `webhook`, `portal` or `key`. */
export type SellingProblem = {about: string; message: string}

export const webhookUrlOf = ({PUBLIC_URL}: Pick<Config, 'PUBLIC_URL'>): string => `${PUBLIC_URL.replace(/\/$/, '')}/billing/webhook`

/**
 * Compares what is stored here with what the payment provider has: prices, webhook endpoint, portal and the permissions of the key. Amounts of prices
 * that fit are stored, to be shown.
 */
export const verifySelling = async (tools: Tools, {webhookUrl}: {webhookUrl: string}): Promise<SellingProblem[]> => {
  const missing = await findMissingPermissions(tools)
  if (missing.length > 0) return missing.map(name => ({about: 'key', message: `The key lacks the permission to ${name}`}))
  return [
    ...(await verifyIds(tools)),
    ...(await verifyEndpoint(tools, webhookUrl)).map(message => ({about: 'webhook', message})),
    ...(await verifyPortal(tools)).map(message => ({about: 'portal', message})),
  ]
}

/** For the start of the API: logs each problem as an error. The API serves meanwhile, because all but selling works without the provider. */
export const logSellingProblems = async (tools: Tools & {log: Log}): Promise<void> => {
  const {config, payment, log} = tools
  if (!payment.isConfigured) return
  try {
    const problems = await verifySelling(tools, {webhookUrl: webhookUrlOf(config)})
    for (const problem of problems) log.error({problem}, 'what is sold does not fit the payment provider: run `lading billing check`')
    log.info({problems: problems.length}, 'selling verified')
  } catch (err) {
    log.error({err}, 'selling could not be verified at the payment provider: run `lading billing check` once it answers')
  }
}

const verifyIds = async (tools: Tools): Promise<SellingProblem[]> => {
  const problems: SellingProblem[] = []
  const currencies = new Set<string>()
  const note = async (about: string, found: VerifiedIds, keep: (amounts: PaymentAmounts) => Promise<unknown>) => {
    for (const {message} of found.problems) problems.push({about, message})
    if (found.amounts === null) return
    currencies.add(found.amounts.currency)
    if (found.problems.length === 0) await keep(found.amounts)
  }
  const {db} = tools
  for (const plan of await listPlansForSale(db))
    await note(plan.id, await findPlanProblems(tools, plan), amounts => setPlanAmounts(db, plan.id, amounts))
  for (const pack of await listPacks(db))
    await note(pack.key, await findPackProblems(tools, pack), amounts => setPackAmounts(db, pack.key, amounts))
  if (currencies.size === 0) problems.push({about: 'prices', message: 'Nothing has a price. Run: lading billing setup'})
  // A customer with a subscription in one currency cannot be charged in another.
  if (currencies.size > 1) problems.push({about: 'prices', message: `Prices are in several currencies: ${[...currencies].join(', ')}`})
  return problems
}

const verifyEndpoint = async ({payment}: Tools, url: string): Promise<string[]> => {
  const {Stripe: Sdk} = await import('stripe')
  const {data} = await payment.ask('list', stripe => stripe.webhookEndpoints.list({limit: 100}))
  const all = data.filter(one => one.url === url && one.status === 'enabled')
  if (all.length === 0) return [`No enabled webhook endpoint leads to ${url}`]
  if (all.length > 1) return [`Several webhook endpoints lead to ${url}: delete all but one`]
  return endpointProblems(all[0]!, Sdk.API_VERSION)
}

const endpointProblems = ({id, api_version: version, enabled_events: events}: Stripe.WebhookEndpoint, wanted: string): string[] => {
  const missing = EVENT_TYPES.filter(type => !events.includes(type))
  const others = events.filter(type => !EVENT_TYPES.includes(type as (typeof EVENT_TYPES)[number]))
  return [
    ...(version === wanted ? [] : [`The webhook endpoint ${id} is of API version ${version ?? 'none'}, and ${wanted} is needed`]),
    ...(missing.length ? [`The webhook endpoint ${id} does not send ${missing.join(', ')}`] : []),
    ...(others.length ? [`The webhook endpoint ${id} sends what is not needed: ${others.join(', ')}`] : []),
  ]
}

const verifyPortal = async ({config, payment}: Tools): Promise<string[]> => {
  const {PAYMENT_PORTAL_CONFIGURATION: id} = config
  const found = id === undefined ? await findDefaultPortal(payment) : await findPortal(payment, id)
  if (!found) return [id === undefined ? 'The account has no portal configuration' : `There is no portal configuration ${id}`]
  const {active, features} = found
  return [
    ...(active ? [] : [`The portal configuration ${found.id} is not active`]),
    ...(features.subscription_update.enabled ? [`The portal configuration ${found.id} lets customers change plans`] : []),
    ...(features.payment_method_update.enabled ? [] : [`The portal configuration ${found.id} does not let customers change their card`]),
  ]
}

const findPortal = (payment: PaymentProvider, id: string) =>
  payment.ask('billing_portal.configuration', stripe => stripe.billingPortal.configurations.retrieve(id)).catch(nullWhereGone)

const findDefaultPortal = async (payment: PaymentProvider) => {
  const asked = {is_default: true, active: true, limit: 1}
  return (await payment.ask('list', stripe => stripe.billingPortal.configurations.list(asked))).data[0] ?? null
}
