import type {Stripe} from 'stripe'
import type {Pool} from '../../../sql/database.ts'
import {listPacks, type PaymentAmounts, setPackAmounts, setPlanAmounts} from '../../../sql/plans.ts'
import type {Config} from '../../config.ts'
import type {Log} from '../../telemetry/log.ts'
import {EVENT_TYPES} from '../events/classify.ts'
import {listPlansForSale} from '../offer.ts'
import {nullWhereGone} from '../payment-failure.ts'
import type {PaymentProvider} from '../payment-provider.ts'
import {findMissingPermissions} from './key-permissions.ts'
import {findPackProblems, findPlanProblems, type VerifiedIds} from './payment-ids.ts'

type VerifySellingDeps = {config: Config; db: Pool; payment: PaymentProvider}

/** A problem that prevents a sale. `about`: a plan version, a pack, `prices`, `webhook`, `portal`, `key` or `payment provider`. */
export type SellingProblem = {about: string; message: string}

export const webhookUrlOf = ({PUBLIC_URL}: Pick<Config, 'PUBLIC_URL'>): string => `${PUBLIC_URL.replace(/\/$/, '')}/billing/webhook`

/**
 * Compares the stored price ids, the webhook endpoint and the portal with the payment provider. If the key lacks permissions, reports only these
 * permissions. Stores the amounts of matching prices, which are shown to users.
 */
export const verifySelling = async (deps: VerifySellingDeps, {webhookUrl}: {webhookUrl: string}): Promise<SellingProblem[]> => {
  const missing = await findMissingPermissions(deps)
  if (missing.length > 0) return missing.map(name => ({about: 'key', message: `The key lacks the permission to ${name}`}))
  return [
    ...(await verifyIds(deps)),
    ...(await verifyEndpoint(deps, webhookUrl)).map(message => ({about: 'webhook', message})),
    ...(await verifyPortal(deps)).map(message => ({about: 'portal', message})),
  ]
}

/** Logs each problem as an error when the API starts. Problems do not prevent the start, because only selling needs the provider. */
export const logSellingProblems = async (deps: VerifySellingDeps & {log: Log}): Promise<void> => {
  const {config, payment, log} = deps
  if (!payment.isConfigured) return
  try {
    const problems = await verifySelling(deps, {webhookUrl: webhookUrlOf(config)})
    for (const problem of problems) log.error({problem}, 'the stored prices do not match the payment provider; run `lading billing check`')
    log.info({problems: problems.length}, 'selling verified')
  } catch (err) {
    log.error({err}, 'could not verify selling at the payment provider; run `lading billing check` once it answers')
  }
}

const verifyIds = async (deps: VerifySellingDeps): Promise<SellingProblem[]> => {
  const problems: SellingProblem[] = []
  const currencies = new Set<string>()
  const note = async (about: string, verifiedIds: VerifiedIds, keep: (amounts: PaymentAmounts) => Promise<unknown>) => {
    for (const {message} of verifiedIds.problems) problems.push({about, message})
    if (verifiedIds.amounts === null) return
    currencies.add(verifiedIds.amounts.currency)
    if (verifiedIds.problems.length === 0) await keep(verifiedIds.amounts)
  }
  const {db} = deps
  for (const plan of await listPlansForSale(db))
    await note(plan.id, await findPlanProblems(deps, plan), amounts => setPlanAmounts(db, plan, amounts))
  for (const pack of await listPacks(db))
    await note(pack.key, await findPackProblems(deps, pack), amounts => setPackAmounts(db, pack, amounts))
  if (currencies.size === 0) problems.push({about: 'prices', message: 'Nothing has a price. Run: lading billing setup'})
  // A customer with a subscription in one currency cannot be charged in another.
  if (currencies.size > 1) problems.push({about: 'prices', message: `Prices are in several currencies: ${[...currencies].join(', ')}`})
  return problems
}

const verifyEndpoint = async ({payment}: VerifySellingDeps, url: string): Promise<string[]> => {
  const {Stripe: Sdk} = await import('stripe')
  const {data} = await payment.ask('list', stripe => stripe.webhookEndpoints.list({limit: 100}))
  const all = data.filter(one => one.url === url && one.status === 'enabled')
  if (all.length === 0) return [`No enabled webhook endpoint leads to ${url}`]
  if (all.length > 1) return [`Several webhook endpoints lead to ${url}. Delete all but one`]
  return endpointProblems(all[0]!, Sdk.API_VERSION)
}

const endpointProblems = ({id, api_version: version, enabled_events: events}: Stripe.WebhookEndpoint, wanted: string): string[] => {
  const missing = EVENT_TYPES.filter(type => !events.includes(type))
  const others = events.filter(type => !EVENT_TYPES.includes(type as (typeof EVENT_TYPES)[number]))
  return [
    ...(version === wanted ? [] : [`The webhook endpoint ${id} has API version ${version ?? 'none'}, but ${wanted} is needed`]),
    ...(missing.length ? [`The webhook endpoint ${id} does not send ${missing.join(', ')}`] : []),
    ...(others.length ? [`The webhook endpoint ${id} sends events that are not needed: ${others.join(', ')}`] : []),
  ]
}

const verifyPortal = async ({config, payment}: VerifySellingDeps): Promise<string[]> => {
  const {PAYMENT_PORTAL_CONFIGURATION: id} = config
  const verifiedIds = id === undefined ? await findDefaultPortal(payment) : await findPortal(payment, id)
  if (!verifiedIds) return [id === undefined ? 'The account has no portal configuration' : `There is no portal configuration ${id}`]
  const {active, features} = verifiedIds
  return [
    ...(active ? [] : [`The portal configuration ${verifiedIds.id} is not active`]),
    ...(features.subscription_update.enabled ? [`The portal configuration ${verifiedIds.id} lets customers change plans`] : []),
    ...(features.payment_method_update.enabled
      ? []
      : [`The portal configuration ${verifiedIds.id} does not let customers change their card`]),
  ]
}

const findPortal = (payment: PaymentProvider, id: string) =>
  payment.ask('billing_portal.configuration', stripe => stripe.billingPortal.configurations.retrieve(id)).catch(nullWhereGone)

const findDefaultPortal = async (payment: PaymentProvider) => {
  const asked = {is_default: true, active: true, limit: 1}
  return (await payment.ask('list', stripe => stripe.billingPortal.configurations.list(asked))).data[0] ?? null
}
