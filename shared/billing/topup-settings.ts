import {z} from 'zod'
import {type BillingAccount, findBillingAccount, keepAccount, lockBillingAccount} from '../../sql/billing-accounts.ts'
import type {Db, Pool, Tx} from '../../sql/database.ts'
import {dropPending, findAttempt, readMonth, setTopup} from '../../sql/topups.ts'
import {holdCurrent} from '../credits/balance.ts'
import {readStanding} from '../entitlements/standing.ts'
import {Refusal} from '../errors.ts'
import type {Log} from '../log.ts'
import type {Queue} from '../queue.ts'
import {type Author, recordChanges} from '../registry/change.ts'
import {readDefaultCard} from './default-card.ts'
import {assertSells, findPackForSale, sandboxRefused} from './offer.ts'
import {refuseFailure} from './payment-failure.ts'
import type {PaymentProvider} from './payment-provider.ts'
import {considerTopup} from './topup-trigger.ts'

const most = 1_000_000_000

/** What is left out stays as it is. */
export const TopupBody = z.strictObject({
  enabled: z.boolean().describe('Whether credits are bought by themselves'),
  packKey: z.string().max(100).optional().describe('The pack that is bought'),
  threshold: z.int().min(1).max(most).optional().describe('Fewer AI credits than these, and more are bought'),
  monthlyCap: z.int().min(1).max(most).optional().describe('At most so many AI credits are bought in a calendar month (UTC)'),
})

/** What is topped up when, what of this month's cap is used or may be, and why it was stopped where nobody stopped it. */
export const describeTopup = async (db: Db, org: string) => {
  const {enabled, packKey, threshold, monthlyCap, stopped} = settingsOf(await findBillingAccount(db, org))
  const {month, counted, open} = await readMonth(db, {org})
  const attempt = open === null ? null : await findAttempt(db, {org, id: open})
  return {
    ...{enabled, packKey, threshold, monthlyCap},
    month: {month, used: counted, remaining: monthlyCap === null ? null : Math.max(0, monthlyCap - counted)},
    stopped: stopped && {reason: stopped, message: SAYS[stopped] ?? SAYS.refused!},
    underWay: attempt && {credits: attempt.credits, packKey: attempt.packKey, state: attempt.state},
  }
}

const settingsOf = (account: BillingAccount | null) => ({
  enabled: account?.topupEnabled ?? false,
  packKey: account?.topupPack ?? null,
  threshold: account?.topupThreshold ?? null,
  monthlyCap: account?.topupMonthlyCap ?? null,
  stopped: account?.topupStopped ?? null,
})

const SAYS: Record<string, string> = {
  card_declined: 'The card was declined: change it at the billing portal, which switches this on again, or enable it once the card works',
  authentication_required: 'The bank wants each payment by this card to be confirmed: use another card, or buy a pack yourself',
  customer_gone: 'This org is no customer at the payment provider any more: subscribe to a plan, or buy a pack, and enable it again',
  no_card: 'There is no card to charge: add one at the billing portal',
  pack_not_sold: 'The pack is not sold any more: choose another one',
  refused: 'The payment provider refused it: write to support if it happens again',
}

type Tools = {db: Pool; queue: Queue; payment: PaymentProvider; log: Log}

/**
 * Switches topping up on or off, or changes it. What was thought of before and not asked for yet is dropped, so what is disabled charges nothing
 * from here on; what the org lacks by the new settings is sent for at once.
 */
export const keepTopup = async (tools: Tools, author: Author, asked: z.output<typeof TopupBody>) => {
  const {db, queue, payment} = tools
  const {org} = author
  if ((await readStanding(db, org)).sandbox) throw sandboxRefused()
  if (asked.enabled) assertSells(payment)
  if (asked.packKey !== undefined) await findPackForSale(db, asked.packKey)
  if (asked.enabled) await assertChargeable(tools, org)
  await keepAccount(db, org)
  return db.transaction(async tx => {
    const before = settingsOf(await lockBillingAccount(tx, org))
    const {enabled, packKey = before.packKey, threshold = before.threshold, monthlyCap = before.monthlyCap} = asked
    const next = {enabled, packKey, threshold, monthlyCap}
    await assertWhole(tx, next)
    const current = await holdCurrent(tx, org)
    await setTopup(tx, {org, enabled, pack: packKey, threshold, monthlyCap})
    await dropPending(tx, org)
    await considerTopup(tx, queue, current)
    const {stopped, ...was} = before
    if (stopped !== null || JSON.stringify(was) !== JSON.stringify(next))
      await recordChanges(tx, author, [{page: 'usage', subject: 'topup', before: was, after: next}])
    return describeTopup(tx, org)
  })
}

/** Before anything is held: this asks the provider. */
const assertChargeable = async (tools: Tools, org: string) => {
  const {db, log} = tools
  const account = await findBillingAccount(db, org)
  if (!account?.customer)
    throw new Refusal(
      'NO_PAYMENT_CUSTOMER',
      'There is no card to charge yet: subscribe to a plan, or buy a pack of credits, by POST /billing/checkout first',
    )
  const card = await readDefaultCard(tools, {org, customer: account.customer}).catch(refuseFailure(log, 'reading the card'))
  if (card === null)
    throw new Refusal('NO_PAYMENT_CUSTOMER', 'There is no card to charge: add one at the billing portal (POST /billing/portal) first')
}

type Next = {enabled: boolean; packKey: string | null; threshold: number | null; monthlyCap: number | null}

const assertWhole = async (tx: Tx, {enabled, packKey, threshold, monthlyCap}: Next) => {
  const missing = Object.entries({packKey, threshold, monthlyCap}).flatMap(([name, value]) => (value === null ? [name] : []))
  if (enabled && missing.length > 0)
    throw new Refusal('INVALID', `Say which pack is bought, below how many credits, and at most how many a month: ${missing.join(', ')}`, {
      issues: missing.map(name => ({path: [name], message: 'Needed to enable it'})),
    })
  if (packKey === null) return
  const pack = await findPackForSale(tx, packKey).catch(error => {
    if (enabled) throw error
    return null
  })
  if (pack && monthlyCap !== null && monthlyCap < pack.credits)
    throw new Refusal('INVALID', `A month's cap below one pack buys nothing: this pack has ${pack.credits} credits`, {
      issues: [{path: ['monthlyCap'], message: `At least ${pack.credits}`}],
    })
}
