import {z} from 'zod'
import {type BillingAccount, findBillingAccount, keepAccount, lockBillingAccount} from '../../sql/billing-accounts.ts'
import type {Db, Pool, Tx} from '../../sql/database.ts'
import {dropPending, findAttempt, readMonth, setTopup} from '../../sql/topups.ts'
import {type Author, recordChanges} from '../configuration/change.ts'
import {Refusal} from '../errors.ts'
import type {Queue} from '../queue.ts'
import type {Log} from '../telemetry/log.ts'
import {holdCurrent} from './credits/balance.ts'
import {readDefaultCard} from './default-card.ts'
import {readPlanStatus} from './entitlements/plan-status.ts'
import {assertSells, findPackForSale, sandboxRefused} from './offer.ts'
import {refuseFailure} from './payment-failure.ts'
import type {PaymentProvider} from './payment-provider.ts'
import {considerTopup} from './topup-trigger.ts'

const most = 1_000_000_000

/** A change of the top-up settings. Settings that are left out stay. */
export const TopupBody = z.strictObject({
  enabled: z.boolean().describe('Whether credits are bought automatically'),
  packKey: z.string().max(100).optional().describe('The pack to buy'),
  threshold: z.int().min(1).max(most).optional().describe('Buys more when fewer AI credits are available'),
  monthlyCap: z.int().min(1).max(most).optional().describe('The most AI credits to buy in a calendar month (UTC)'),
})

/** Returns the top-up settings, the use of this month's cap, the top-up in progress, and why the service disabled top-ups, if it did. */
export const describeTopup = async (db: Db, org: string) => {
  const {enabled, packKey, threshold, monthlyCap, stopped} = settingsOf(await findBillingAccount(db, org))
  const {month, counted, open} = await readMonth(db, {org})
  const attempt = open === null ? null : await findAttempt(db, {org, id: open})
  return {
    enabled,
    packKey,
    threshold,
    monthlyCap,
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
  card_declined: 'The card was declined. Change it in the billing portal, which enables top-ups again, or enable them once the card works',
  authentication_required: 'The bank requires a confirmation of each payment by this card. Use another card, or buy a pack yourself',
  customer_gone: 'The payment provider no longer has a customer for this org. Subscribe to a plan or buy a pack, then enable top-ups again',
  no_card: 'There is no card to charge. Add one in the billing portal',
  pack_not_sold: 'The pack is no longer for sale. Choose another one',
  refused: 'The payment provider refused the payment. Contact support if this happens again',
}

type TopupSettingsDeps = {db: Pool; queue: Queue; payment: PaymentProvider; log: Log}

/**
 * Enables, disables or changes automatic top-ups. Drops a pending top-up that was not charged yet, so that disabling prevents every further
 * charge. If the new settings require a top-up, enqueues one immediately.
 */
export const keepTopup = async (deps: TopupSettingsDeps, author: Author, asked: z.output<typeof TopupBody>) => {
  const {db, queue, payment} = deps
  const {org} = author
  if ((await readPlanStatus(db, org)).sandbox) throw sandboxRefused()
  if (asked.enabled) assertSells(payment)
  if (asked.packKey !== undefined) await findPackForSale(db, asked.packKey)
  if (asked.enabled) await assertChargeable(deps, org)
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

/** Throws NO_PAYMENT_CUSTOMER if the org has no card to charge. Call this before a lock is taken, because it calls the provider. */
const assertChargeable = async (deps: TopupSettingsDeps, org: string) => {
  const {db, log} = deps
  const account = await findBillingAccount(db, org)
  if (!account?.customer)
    throw new Refusal(
      'NO_PAYMENT_CUSTOMER',
      'There is no card to charge. Subscribe to a plan or buy a pack of credits by POST /billing/checkout first',
    )
  const card = await readDefaultCard(deps, {org, customer: account.customer}).catch(refuseFailure(log, 'reading the card'))
  if (card === null)
    throw new Refusal('NO_PAYMENT_CUSTOMER', 'There is no card to charge. Add one in the billing portal (POST /billing/portal) first')
}

type NewTopupSettings = {enabled: boolean; packKey: string | null; threshold: number | null; monthlyCap: number | null}

const assertWhole = async (tx: Tx, {enabled, packKey, threshold, monthlyCap}: NewTopupSettings) => {
  const missing = Object.entries({packKey, threshold, monthlyCap}).flatMap(([name, value]) => (value === null ? [name] : []))
  if (enabled && missing.length > 0)
    throw new Refusal('INVALID', `Automatic top-ups need a pack, a threshold and a monthly cap. Set ${missing.join(', ')}`, {
      issues: missing.map(name => ({path: [name], message: 'Required to enable top-ups'})),
    })
  if (packKey === null) return
  const pack = await findPackForSale(tx, packKey).catch(error => {
    if (enabled) throw error
    return null
  })
  if (pack && monthlyCap !== null && monthlyCap < pack.credits)
    throw new Refusal('INVALID', `The monthly cap is below one pack. Set it to at least ${pack.credits} credits`, {
      issues: [{path: ['monthlyCap'], message: `At least ${pack.credits}`}],
    })
}
