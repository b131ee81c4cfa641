import type {Db} from '../../sql/database.ts'
import {type CreditPack, listPacks, listPlans, type PricedPlan} from '../../sql/plans.ts'
import {Refusal} from '../errors.ts'
import type {PaymentProvider} from './payment-provider.ts'
import type {Interval} from './subscription.ts'

/** Returns the paid plans for sale, each in its newest version, lowest rank first. */
export const listPlansForSale = async (db: Db): Promise<PricedPlan[]> => {
  const plans = await listPlans(db)
  const isNewest = ({key, version}: PricedPlan) => !plans.some(other => other.key === key && other.version > version)
  return plans.filter(plan => plan.sold && plan.key !== 'free' && isNewest(plan))
}

export const priceOf = (plan: PricedPlan, interval: Interval): string | null =>
  interval === 'month' ? plan.paymentPriceMonthlyId : plan.paymentPriceAnnualId

/** Returns a plan for sale and its price id. Throws NOT_SOLD if the plan is not for sale or has no price for the interval. */
export const findPlanForSale = async (db: Db, {planKey, interval}: {planKey: string; interval: Interval}) => {
  const plan = (await listPlansForSale(db)).find(({key}) => key === planKey)
  if (!plan) throw new Refusal('NOT_SOLD', 'No such plan is for sale. GET /billing/summary lists the plans for sale')
  const price = priceOf(plan, interval)
  if (price === null) throw new Refusal('NOT_SOLD', `The plan ${plan.name} is not sold by the ${interval}. Choose the other interval`)
  return {plan, price}
}

export const findPackForSale = async (db: Db, packKey: string): Promise<CreditPack & {paymentPriceId: string}> => {
  const pack = (await listPacks(db)).find(({key}) => key === packKey)
  if (pack?.paymentPriceId) return {...pack, paymentPriceId: pack.paymentPriceId}
  throw new Refusal('NOT_SOLD', 'No such pack is for sale. GET /billing/summary lists the packs for sale')
}

export const assertSells = ({isConfigured}: PaymentProvider): void => {
  if (!isConfigured) throw new Refusal('NOT_CONFIGURED', 'This deployment sells nothing. Ask the operator to configure a payment provider')
}

export const sandboxRefused = () => new Refusal('SANDBOX_ORG', 'This org is a sandbox. Its production org pays for it')
