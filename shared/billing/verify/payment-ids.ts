import type {PackPayment, PaymentAmounts, PlanPayment} from '../../../sql/plans.ts'
import type {Config} from '../../config.ts'
import {Refusal} from '../../errors.ts'
import type {Log} from '../../log.ts'
import {refuseFailure} from '../payment-failure.ts'
import type {PaymentProvider} from '../payment-provider.ts'
import {type PriceUse, type TaxBehavior, verifyPrice} from './price.ts'

type Tools = {config: Pick<Config, 'PAYMENT_API_KEY' | 'PAYMENT_AUTOMATIC_TAX'>; payment: PaymentProvider}

/** `path`: the field that holds the id. */
export type IdProblem = {path: string[]; message: string}

const PLAN_USES: Record<string, PriceUse> = {
  paymentPriceMonthlyId: 'month',
  paymentPriceAnnualId: 'year',
  paymentPriceOverageId: 'overage',
}

export const findPlanProblems = (tools: Tools, payment: PlanPayment) => findProblems(tools, {...payment}, PLAN_USES)
export const findPackProblems = (tools: Tools, payment: PackPayment) => findProblems(tools, {...payment}, {paymentPriceId: 'pack'})

/**
 * Refuses ids that the provider does not know or that are of another kind, before a customer finds out. Answers what they cost. Without a key
 * nothing is verified or known.
 */
export const refuseProblems = async (
  tools: Tools & {log: Log},
  find: (tools: Tools) => Promise<VerifiedIds>,
): Promise<PaymentAmounts | null> => {
  if (!tools.payment.isConfigured) return null
  const {problems: issues, amounts} = await find(tools).catch(refuseFailure(tools.log, 'verifying the ids of prices'))
  if (issues.length > 0)
    throw new Refusal('INVALID', `${issues[0]!.message}. Write the id of a price that fits, or run: lading billing setup`, {issues})
  return amounts
}

/** `amounts` by use; null where nothing has a price. */
export type VerifiedIds = {problems: IdProblem[]; amounts: PaymentAmounts | null}

const findProblems = async (tools: Tools, ids: Record<string, unknown>, uses: Record<string, PriceUse>): Promise<VerifiedIds> => {
  const problems: IdProblem[] = []
  const amounts: Record<string, string> = {}
  let currency: string | null = null
  let taxBehavior: TaxBehavior | null | undefined
  const product = (ids.paymentProductId as string | null) ?? null
  for (const [name, use] of Object.entries(uses)) {
    const id = ids[name] as string | null
    if (id === null) continue
    const price = await verifyPrice(tools, {id, use, product})
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
