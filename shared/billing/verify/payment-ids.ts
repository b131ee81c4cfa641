import type {PackPayment, PaymentAmounts, PlanPayment} from '../../../sql/plans.ts'
import type {Config} from '../../config.ts'
import {Refusal} from '../../errors.ts'
import type {Log} from '../../telemetry/log.ts'
import {refuseFailure} from '../payment-failure.ts'
import type {PaymentProvider} from '../payment-provider.ts'
import {type PriceUse, type TaxBehavior, verifyPrice} from './price.ts'

type PaymentIdsDeps = {config: Pick<Config, 'PAYMENT_API_KEY' | 'PAYMENT_AUTOMATIC_TAX'>; payment: PaymentProvider}

type IdProblem = {path: string[]; message: string}

const PLAN_USES: Record<string, PriceUse> = {
  paymentPriceMonthlyId: 'month',
  paymentPriceAnnualId: 'year',
  paymentPriceOverageId: 'overage',
}

export const findPlanProblems = (deps: PaymentIdsDeps, payment: PlanPayment) => findProblems(deps, {...payment}, PLAN_USES)
export const findPackProblems = (deps: PaymentIdsDeps, payment: PackPayment) => findProblems(deps, {...payment}, {paymentPriceId: 'pack'})

/**
 * Verifies price ids before they affect a customer, and returns their amounts. Throws INVALID if the provider does not know an id, or if an
 * id does not fit its use. Without a provider key, verifies nothing and returns null.
 */
export const refuseProblems = async (
  deps: PaymentIdsDeps & {log: Log},
  find: (deps: PaymentIdsDeps) => Promise<VerifiedIds>,
): Promise<PaymentAmounts | null> => {
  if (!deps.payment.isConfigured) return null
  const {problems: issues, amounts} = await find(deps).catch(refuseFailure(deps.log, 'verifying the ids of prices'))
  if (issues.length > 0)
    throw new Refusal('INVALID', `${issues[0]!.message}. Use the id of a matching price, or run: lading billing setup`, {issues})
  return amounts
}

/** The result of a verification. `amounts`: the amounts by use; null if no id has a price. */
export type VerifiedIds = {problems: IdProblem[]; amounts: PaymentAmounts | null}

const findProblems = async (deps: PaymentIdsDeps, ids: Record<string, unknown>, uses: Record<string, PriceUse>): Promise<VerifiedIds> => {
  const problems: IdProblem[] = []
  const amounts: Record<string, string> = {}
  let currency: string | null = null
  let taxBehavior: TaxBehavior | null | undefined
  const product = (ids.paymentProductId as string | null) ?? null
  for (const [name, use] of Object.entries(uses)) {
    const id = ids[name] as string | null
    if (id === null) continue
    const price = await verifyPrice(deps, {id, use, product})
    const isOther = currency !== null && price.currency !== null && price.currency !== currency
    const isTaxedOther = taxBehavior !== undefined && price.currency !== null && price.taxBehavior !== taxBehavior
    const message =
      price.problem ??
      (isOther ? `The price ${id} is in ${price.currency}, and another one in ${currency}` : null) ??
      (isTaxedOther
        ? `The tax behavior of the price ${id} is ${nameOf(price.taxBehavior)}, and of another one ${nameOf(taxBehavior)}`
        : null)
    if (message !== null) problems.push({path: [name], message})
    currency ??= price.currency
    if (price.currency !== null && taxBehavior === undefined) taxBehavior = price.taxBehavior
    if (price.amount !== null) amounts[use] = price.amount
  }
  return {problems, amounts: currency === null ? null : {currency, amounts, taxBehavior: taxBehavior ?? null}}
}

const nameOf = (behavior: TaxBehavior | null | undefined) => behavior ?? 'unspecified'
