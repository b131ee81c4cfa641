import {z} from 'zod'
import {insertCheckout, setCheckoutOpen} from '../../sql/checkouts.ts'
import {readStanding, type Standing} from '../entitlements/standing.ts'
import {newId} from '../ids.ts'
import {packParams, type ReturnUrls} from './checkout-params.ts'
import {type Asker, type CheckoutTools, openSession} from './checkout-session.ts'
import {keepPaymentCustomer} from './customer.ts'
import {assertSells, findPackForSale, findPlanForSale, sandboxRefused} from './offer.ts'
import {refuseFailure} from './payment-failure.ts'
import {openPlanCheckout} from './plan-checkout.ts'
import {readReturnUrl} from './return-url.ts'
import {isoOf} from './subscription.ts'

const mostPacks = 100
const url = (when: string) =>
  z.string().nullish().describe(`Where the browser is sent ${when}: at an origin of \`RETURN_ORIGINS\` or \`PUBLIC_URL\``)
const urls = {successUrl: url('once it is paid'), cancelUrl: url('where nobody paid')}

export const CheckoutBody = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('plan').describe('A plan, paid for by the period'),
    planKey: z.string().max(100).describe('Which plan: `GET /billing/summary` lists those that are sold'),
    interval: z.enum(['month', 'year']).default('month').describe('How long a period that is paid for is'),
    afterTrial: z.boolean().default(false).describe('Whether it begins, and is charged, when the trial is over'),
    ...urls,
  }),
  z.strictObject({
    kind: z.literal('credit_pack').describe('AI credits, paid for once'),
    packKey: z.string().max(100).describe('Which pack: `GET /billing/summary` lists them'),
    quantity: z.int().min(1).max(mostPacks).default(1).describe('How many of it'),
    ...urls,
  }),
])
type Asked = z.output<typeof CheckoutBody>

/**
 * Makes a page of the provider's at which a plan or credits are paid for, and answers where it is. Nothing is ours until it has been paid and
 * `settleCheckout` has read so.
 */
export const openCheckout = async (tools: CheckoutTools, by: Asker, asked: Asked): Promise<{kind: 'checkout'; url: string}> => {
  const {config, db, payment, log} = tools
  const standing = await readStanding(db, by.org)
  if (standing.sandbox) throw sandboxRefused()
  const at = {
    successUrl: readReturnUrl(config, asked.successUrl, '/?checkout=done'),
    cancelUrl: readReturnUrl(config, asked.cancelUrl, '/?checkout=cancelled'),
  }
  const open = asked.kind === 'plan' ? await findPlan(tools, asked) : await findPack(tools, asked)
  assertSells(payment)
  const page = await open(by, at, standing).catch(refuseFailure(log, `a Checkout of ${by.org}`))
  return {kind: 'checkout', url: page}
}

type Of<K extends Asked['kind']> = Extract<Asked, {kind: K}>

const findPlan = async (tools: CheckoutTools, {planKey, interval, afterTrial}: Of<'plan'>) => {
  const sold = await findPlanForSale(tools.db, {planKey, interval})
  return (by: Asker, at: ReturnUrls, standing: Standing) => openPlanCheckout(tools, by, {...sold, ...at, interval, afterTrial, standing})
}

/** Any number of them may be open. */
const findPack = async (tools: CheckoutTools, {packKey, quantity}: Of<'credit_pack'>) => {
  const pack = await findPackForSale(tools.db, packKey)
  return async ({org, person, email}: Asker, at: ReturnUrls): Promise<string> => {
    const {config, db} = tools
    const customer = await keepPaymentCustomer(tools, {org, email})
    const id = newId('chk')
    const asked = packParams({...at, config, id, org, person, customer, pack, quantity})
    const credits = pack.credits * quantity
    const params = await insertCheckout(db, {id, org, person, seq: 0, kind: 'credit_pack', packKey, quantity, credits, params: asked})
    const page = await openSession(tools, {id, org, params})
    await setCheckoutOpen(db, {id, session: page.id, expiresAt: isoOf(page.expires_at)!})
    return page.url!
  }
}
