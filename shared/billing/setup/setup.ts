import type {Pool} from '../../../sql/database.ts'
import {listPacks} from '../../../sql/plans.ts'
import {Refusal} from '../../errors.ts'
import type {Log} from '../../telemetry/log.ts'
import {pricePack, pricePlan} from '../entitlements/by-staff.ts'
import {listPlansForSale} from '../offer.ts'
import {failureIn} from '../payment-failure.ts'
import {type SellingProblem, verifySelling} from '../verify/selling.ts'
import {keepMeter, keepPortalConfiguration, keepPrice, keepProduct, type SetupDeps} from './catalog.ts'
import type {PriceList} from './price-list.ts'
import {type KeptEndpoint, keepEndpoint} from './webhook-endpoint.ts'

type SellingDeps = SetupDeps & {db: Pool; log: Log}

/** The result of a setup. `priced`: the plan versions and packs in the price list, which can now be bought. */
export type SetupReport = {priced: string[]; portal: string; webhook: KeptEndpoint; problems: SellingProblem[]}

/**
 * Creates products, prices, portal configuration and webhook endpoint at the payment provider, stores the price ids, and verifies
 * everything. A repeated run keeps existing objects and creates missing ones.
 */
export const setUpSelling = async (
  deps: SellingDeps,
  {prices, webhookUrl}: {prices: PriceList; webhookUrl: string},
): Promise<SetupReport> => {
  if (deps.config.PAYMENT_AUTOMATIC_TAX && prices.taxBehavior === undefined)
    throw new Refusal(
      'INVALID',
      'PAYMENT_AUTOMATIC_TAX is on. State in the price list whether prices contain tax: "taxBehavior": "inclusive" or "exclusive"',
    )
  const priced = [...(await pricePlans(deps, prices)), ...(await pricePacks(deps, prices))]
  const portal = await keepPortalConfiguration(deps)
  const webhook = await keepEndpoint(deps, webhookUrl)
  const config = {...deps.config, PAYMENT_PORTAL_CONFIGURATION: portal}
  // The provider shows the secret of a new endpoint only once, so the report must be returned even if the provider fails during the
  // verification.
  const problems = await verifySelling({...deps, config}, {webhookUrl}).catch(error => [
    {about: 'payment provider', message: failureIn(error).message},
  ])
  return {priced, portal, webhook, problems}
}

const pricePlans = async (deps: SellingDeps, {plans, ...common}: PriceList): Promise<string[]> => {
  const sold = await listPlansForSale(deps.db)
  const isMetered = Object.values(plans).some(plan => plan?.row !== undefined)
  const meter = isMetered ? await keepMeter(deps) : undefined
  for (const plan of sold) {
    const amounts = plans[plan.key as keyof typeof plans]
    if (!amounts) continue
    const product = await keepProduct(deps, {key: plan.key, name: `Lading ${plan.name}`})
    const price = (name: string, amount: number | string | undefined, recurring: {interval: 'month' | 'year'; meter?: string}) =>
      amount === undefined ? null : keepPrice(deps, {...common, name: [plan.id, name], product, amount: String(amount), recurring})
    const row = meter === undefined ? null : {interval: 'month' as const, usage_type: 'metered' as const, meter}
    await pricePlan(deps, null, {
      id: plan.id,
      paymentProductId: product,
      paymentPriceMonthlyId: await price('month', amounts.month, {interval: 'month'}),
      paymentPriceAnnualId: await price('year', amounts.year, {interval: 'year'}),
      paymentPriceOverageId: row && (await price('row', amounts.row, row)),
    })
  }
  return sold.filter(({key}) => key in plans).map(({id}) => id)
}

const pricePacks = async (deps: SellingDeps, {packs: amounts, ...common}: PriceList): Promise<string[]> => {
  const packs = await listPacks(deps.db)
  const unknown = Object.keys(amounts).find(key => !packs.some(pack => pack.key === key))
  if (unknown) throw new Refusal('INVALID', `There is no pack ${unknown}. Use one of ${packs.map(({key}) => key).join(', ')}`)
  for (const {key, name} of packs) {
    const amount = amounts[key]
    if (amount === undefined) continue
    const product = await keepProduct(deps, {key, name})
    const paymentPriceId = await keepPrice(deps, {...common, name: [key], product, amount: String(amount)})
    await pricePack(deps, null, {key, paymentProductId: product, paymentPriceId})
  }
  return Object.keys(amounts)
}
