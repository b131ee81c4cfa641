import type {Pool} from '../../../sql/database.ts'
import {listPacks} from '../../../sql/plans.ts'
import {pricePack, pricePlan} from '../../entitlements/by-staff.ts'
import {Refusal} from '../../errors.ts'
import type {Log} from '../../log.ts'
import {listPlansForSale} from '../offer.ts'
import {type SellingProblem, verifySelling} from '../verify/selling.ts'
import {keepMeter, keepPortalConfiguration, keepPrice, keepProduct, type SetupTools} from './catalog.ts'
import type {PriceList} from './price-list.ts'
import {type KeptEndpoint, keepEndpoint} from './webhook-endpoint.ts'

type Tools = SetupTools & {db: Pool; log: Log}

/** `priced`: the plan versions and packs that can be bought now. */
export type SetupReport = {priced: string[]; portal: string; webhook: KeptEndpoint; problems: SellingProblem[]}

/**
 * Creates at the payment provider what is sold here, stores the ids on plans and packs, and verifies all of it. Running it again finds what an
 * earlier run created and finishes what that one did not.
 */
export const setUpSelling = async (tools: Tools, {prices, webhookUrl}: {prices: PriceList; webhookUrl: string}): Promise<SetupReport> => {
  if (tools.config.PAYMENT_AUTOMATIC_TAX && prices.taxBehavior === undefined)
    throw new Refusal(
      'INVALID',
      'PAYMENT_AUTOMATIC_TAX is on. Say in the price list whether prices contain tax: "taxBehavior": "inclusive" or "exclusive"',
    )
  const priced = [...(await pricePlans(tools, prices)), ...(await pricePacks(tools, prices))]
  const portal = await keepPortalConfiguration(tools)
  const webhook = await keepEndpoint(tools, webhookUrl)
  const config = {...tools.config, PAYMENT_PORTAL_CONFIGURATION: portal}
  return {priced, portal, webhook, problems: await verifySelling({...tools, config}, {webhookUrl})}
}

const pricePlans = async (tools: Tools, {plans, ...common}: PriceList): Promise<string[]> => {
  const sold = await listPlansForSale(tools.db)
  const isMetered = Object.values(plans).some(plan => plan?.row !== undefined)
  const meter = isMetered ? await keepMeter(tools) : undefined
  for (const plan of sold) {
    const amounts = plans[plan.key as keyof typeof plans]
    if (!amounts) continue
    const product = await keepProduct(tools, {key: plan.key, name: `Lading ${plan.name}`})
    const price = (name: string, amount: number | string | undefined, recurring: {interval: 'month' | 'year'; meter?: string}) =>
      amount === undefined ? null : keepPrice(tools, {...common, name: [plan.id, name], product, amount: String(amount), recurring})
    const row = meter === undefined ? null : {interval: 'month' as const, usage_type: 'metered' as const, meter}
    await pricePlan(tools, null, {
      id: plan.id,
      paymentProductId: product,
      paymentPriceMonthlyId: await price('month', amounts.month, {interval: 'month'}),
      paymentPriceAnnualId: await price('year', amounts.year, {interval: 'year'}),
      paymentPriceOverageId: row && (await price('row', amounts.row, row)),
    })
  }
  return sold.filter(({key}) => key in plans).map(({id}) => id)
}

const pricePacks = async (tools: Tools, {packs: amounts, ...common}: PriceList): Promise<string[]> => {
  const packs = await listPacks(tools.db)
  const unknown = Object.keys(amounts).find(key => !packs.some(pack => pack.key === key))
  if (unknown) throw new Refusal('INVALID', `There is no pack ${unknown}. Use one of ${packs.map(({key}) => key).join(', ')}`)
  for (const {key, name} of packs) {
    const amount = amounts[key]
    if (amount === undefined) continue
    const product = await keepProduct(tools, {key, name})
    const paymentPriceId = await keepPrice(tools, {...common, name: [key], product, amount: String(amount)})
    await pricePack(tools, null, {key, paymentProductId: product, paymentPriceId})
  }
  return Object.keys(amounts)
}
