import type {Db} from '../../sql/database.ts'
import {listPacks, listPlans, type Pack, type PricedPlan} from '../../sql/plans.ts'
import {Refusal} from '../errors.ts'
import type {PaymentProvider} from './payment-provider.ts'
import type {Interval} from './subscription.ts'

/** Each paid plan as it is sold now, the lowest first. */
export const listPlansForSale = async (db: Db): Promise<PricedPlan[]> => {
  const plans = await listPlans(db)
  const isNewest = ({key, version}: PricedPlan) => !plans.some(other => other.key === key && other.version > version)
  return plans.filter(plan => plan.sold && plan.key !== 'free' && isNewest(plan))
}

export const priceOf = (plan: PricedPlan, interval: Interval): string | null =>
  interval === 'month' ? plan.paymentPriceMonthlyId : plan.paymentPriceAnnualId

/** The plan as it is sold now, with its price; NOT_SOLD where there is no such plan, or no price for the interval. */
export const findPlanForSale = async (db: Db, {planKey, interval}: {planKey: string; interval: Interval}) => {
  const plan = (await listPlansForSale(db)).find(({key}) => key === planKey)
  if (!plan) throw new Refusal('NOT_SOLD', 'No such plan is sold: GET /billing/summary lists those that are')
  const price = priceOf(plan, interval)
  if (price === null) throw new Refusal('NOT_SOLD', `The plan ${plan.name} is not sold by the ${interval} here: try the other interval`)
  return {plan, price}
}

export const findPackForSale = async (db: Db, packKey: string): Promise<Pack & {paymentPriceId: string}> => {
  const pack = (await listPacks(db)).find(({key}) => key === packKey)
  if (pack?.paymentPriceId) return {...pack, paymentPriceId: pack.paymentPriceId}
  throw new Refusal('NOT_SOLD', 'No such pack is sold: GET /billing/summary lists those that can be bought')
}

export const assertSells = ({isConfigured}: PaymentProvider): void => {
  if (!isConfigured)
    throw new Refusal('NOT_CONFIGURED', 'This deployment sells nothing: its operator configures a payment provider to change that')
}

export const sandboxRefused = () => new Refusal('SANDBOX_ORG', 'This org is a sandbox: what it may do is paid for by its production org')
