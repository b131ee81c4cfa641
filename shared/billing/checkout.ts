import {z} from 'zod'
import {insertCheckout, setCheckoutOpen} from '../../sql/checkouts.ts'
import {newId} from '../ids.ts'
import {packParams, type ReturnUrls} from './checkout-params.ts'
import {type CheckoutCaller, type CheckoutDeps, openSession} from './checkout-session.ts'
import {keepPaymentCustomer} from './customer.ts'
import {type PlanStatus, readPlanStatus} from './entitlements/plan-status.ts'
import {assertSells, findPackForSale, findPlanForSale, sandboxRefused} from './offer.ts'
import {refuseFailure} from './payment-failure.ts'
import {openPlanCheckout} from './plan-checkout.ts'
import {readReturnUrl} from './return-url.ts'
import {isoOf} from './subscription.ts'

const mostPacks = 100
const url = (when: string) =>
  z.string().nullish().describe(`Where the browser goes ${when}. The URL must have an origin of \`RETURN_ORIGINS\` or \`PUBLIC_URL\``)
const urls = {successUrl: url('after the payment'), cancelUrl: url('if the payment is cancelled')}

export const CheckoutBody = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('plan').describe('A plan, paid per period'),
    planKey: z.string().max(100).describe('The key of the plan. `GET /billing/summary` lists the plans for sale'),
    interval: z.enum(['month', 'year']).default('month').describe('The length of a paid period'),
    afterTrial: z.boolean().default(false).describe('Whether the plan begins and is charged at the end of the trial'),
    ...urls,
  }),
  z.strictObject({
    kind: z.literal('credit_pack').describe('AI credits, paid once'),
    packKey: z.string().max(100).describe('The key of the pack. `GET /billing/summary` lists the packs'),
    quantity: z.int().min(1).max(mostPacks).default(1).describe('The number of packs'),
    ...urls,
  }),
])
type CheckoutInput = z.output<typeof CheckoutBody>

/**
 * Creates a payment page at the provider for a plan or AI credits, and returns its URL. The org receives the plan or credits only after
 * `settleCheckout` has read that the page was paid.
 */
export const openCheckout = async (
  deps: CheckoutDeps,
  by: CheckoutCaller,
  input: CheckoutInput,
): Promise<{kind: 'checkout'; url: string}> => {
  const {config, db, payment, log} = deps
  const planStatus = await readPlanStatus(db, by.org)
  if (planStatus.sandbox) throw sandboxRefused()
  const at = {
    successUrl: readReturnUrl(config, input.successUrl, '/?checkout=done'),
    cancelUrl: readReturnUrl(config, input.cancelUrl, '/?checkout=cancelled'),
  }
  const open = input.kind === 'plan' ? await findPlan(deps, input) : await findPack(deps, input)
  assertSells(payment)
  const page = await open(by, at, planStatus).catch(refuseFailure(log, `a Checkout of ${by.org}`))
  return {kind: 'checkout', url: page}
}

type CheckoutOf<K extends CheckoutInput['kind']> = Extract<CheckoutInput, {kind: K}>

const findPlan = async (deps: CheckoutDeps, {planKey, interval, afterTrial}: CheckoutOf<'plan'>) => {
  const sold = await findPlanForSale(deps.db, {planKey, interval})
  return (by: CheckoutCaller, at: ReturnUrls, planStatus: PlanStatus) =>
    openPlanCheckout(deps, by, {...sold, ...at, interval, afterTrial, planStatus})
}

/**
 * Finds a pack for sale. Returns a function that opens a Checkout page for it. Unlike for plans, an org may have any number of open pages for
 * packs.
 */
const findPack = async (deps: CheckoutDeps, {packKey, quantity}: CheckoutOf<'credit_pack'>) => {
  const pack = await findPackForSale(deps.db, packKey)
  return async ({org, person, email}: CheckoutCaller, at: ReturnUrls): Promise<string> => {
    const {config, db} = deps
    const customer = await keepPaymentCustomer(deps, {org, email})
    const id = newId('chk')
    const input = packParams({...at, config, id, org, person, customer, pack, quantity})
    const credits = pack.credits * quantity
    const params = await insertCheckout(db, {id, org, person, seq: 0, kind: 'credit_pack', packKey, quantity, credits, params: input})
    const page = await openSession(deps, {id, org, params})
    await setCheckoutOpen(db, {id, session: page.id, expiresAt: isoOf(page.expires_at)!})
    return page.url!
  }
}
