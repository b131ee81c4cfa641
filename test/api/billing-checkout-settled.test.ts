import anyTest, {type TestFn} from 'ava'
import {readPlanStatus} from '../../shared/billing/entitlements/plan-status.ts'
import {endTrials} from '../../shared/billing/entitlements/trial.ts'
import {underBillingLease} from '../../shared/billing/lease.ts'
import {switchOverage} from '../../shared/billing/overage-switch.ts'
import {trialOf} from '../../shared/billing/plan-checkout.ts'
import {settleCheckout} from '../../shared/billing/settle-checkout.ts'
import {sql} from '../../sql/database.ts'
import {findSubscription} from '../../sql/subscriptions.ts'
import {type Billing, customerOf, openBilling, pass, settleMoney} from '../support/billing.ts'
import {type Buyer, newBuyer, refusedWith, typeCard} from '../support/checkouts.ts'
import {ok} from '../support/importing.ts'

/** The tests run serially, because they share one payment provider. */
const test = anyTest.serial as TestFn
let billing: Billing
test.before(async t => {
  billing = await openBilling(t, {workers: [], webhook: false})
})
test.afterEach.always(() => billing.payment.faults.clear())

const settle = (session: string) => settleCheckout(billing.house.tools, null, session)
const creditLines = async ({changes}: Buyer) =>
  (await changes('usage')).map(({subject, before, after, via, userId}: any) => [subject, before, after, via, userId])

test('a plan page declined and then paid gives the org its plan and stores the card on the customer', async t => {
  const {house, payment} = billing
  const buyer = await newBuyer(billing)
  const {org, openPlan, pages, me, row, changes} = buyer
  const page = await openPlan({planKey: 'business'})
  const {url} = pages()[0]!
  t.is((await typeCard(url, '4000000000000002')).status, 402)
  await settle(page)
  t.like(await me(), {plan: {key: 'free'}}, 'nothing was paid')
  t.like(await row(page), {state: 'open', settled: false})
  t.is((await typeCard(url, '4242424242424242')).status, 303)
  t.like(await me(), {plan: {key: 'free'}}, 'nothing is believed until it was read')
  await settle(page)
  t.like(await me(), {plan: {key: 'business'}, status: 'active'})
  t.like(await row(page), {state: 'complete', settled: true})
  const {subscription, customer} = payment.find(page)!
  const {default_payment_method: card} = payment.find(subscription)!
  t.truthy(card)
  t.is(payment.find(customer)!.invoice_settings.default_payment_method, card)
  t.like(await findSubscription(house.db, org), {id: subscription, status: 'active', interval: 'month', card})
  t.is(await house.db.oneFirst(sql.unsafe`select plan_checkout from billing_accounts where org_id = ${org}`), null)
  t.like((await changes('plan'))[0], {subject: 'plan.changed', via: 'payment', userId: null, after: {plan: 'business'}})
  await settleMoney(t, billing)
})

test('a plan settled concurrently and again later is one change, and keeps a card chosen since', async t => {
  const {house, payment, stripe} = billing
  const {org, openPlan, me, changes} = await newBuyer(billing)
  const page = await openPlan()
  await payment.payCheckout(page)
  const ends = await Promise.allSettled(Array.from({length: 20}, () => settle(page)))
  const refused = ends.flatMap(end => (end.status === 'rejected' ? [end.reason.code] : []))
  t.true(refused.length < 20)
  t.true(
    refused.every(code => code === 'CHANGE_IN_PROGRESS'),
    refused.join(),
  )
  const customer = await customerOf(billing, org)
  const other = await stripe.paymentMethods.attach('pm_card_mastercard', {customer})
  await stripe.customers.update(customer, {invoice_settings: {default_payment_method: other.id}})
  await underBillingLease(house.tools, org, held => settleCheckout(house.tools, held, page))
  t.is(payment.find(customer)!.invoice_settings.default_payment_method, other.id)
  t.like(await me(), {plan: {key: 'team'}})
  t.is((await changes('plan')).length, 1)
  await settleMoney(t, billing)
})

const inTrial = async (buyer: Buyer, left = '14 days') => {
  await ok(buyer.as('POST', `/orgs/${buyer.org}/trial`), 200)
  await billing.house.db.query(sql.unsafe`update orgs set trial_ends_at = lading_now() + ${left}::text::interval where id = ${buyer.org}`)
}

test('a plan that begins at once ends the trial', async t => {
  const {payment} = billing
  const buyer = await newBuyer(billing)
  await inTrial(buyer)
  const page = await buyer.openPlan()
  await payment.payCheckout(page)
  await settle(page)
  const me = await buyer.me()
  t.like(me, {plan: {key: 'team'}, status: 'active'})
  t.true(Date.parse(me.trial.endsAt) < Date.now() + 60_000, 'its time is over')
  t.like((await buyer.changes('plan'))[0], {before: {plan: 'trial', status: 'trialing'}, after: {plan: 'team', status: 'active'}})
  t.is(payment.find(page)!.payment_status, 'paid')
  await settleMoney(t, billing)
})

test('a plan bought to follow the trial leaves the trial alone and is charged at its end', async t => {
  const {house, payment} = billing
  const buyer = await newBuyer(billing)
  await inTrial(buyer, '9 days')
  const before = await buyer.me()
  const page = await buyer.openPlan({afterTrial: true})
  await payment.payCheckout(page)
  await settle(page)
  t.deepEqual((await buyer.me()).trial, before.trial)
  t.like(await buyer.me(), {plan: {key: 'trial'}, status: 'trialing'})
  const known = await findSubscription(house.db, buyer.org)
  t.like(known, {status: 'trialing', planVersionId: 'team.1'})
  t.true(Math.abs(Date.parse(known!.trialEndsAt!) - Date.parse(before.trial.endsAt)) < 1000)
  t.is(payment.money(payment.find(page)!.customer).charged, 0)
  refusedWith(t, await buyer.buy({kind: 'plan', planKey: 'business'}), [409, 'ALREADY_SUBSCRIBED'])
  await settleMoney(t, billing)
})

test('a plan to follow the trial is sold until 49 hours before the trial ends', async t => {
  const {payment} = billing
  for (const [left, isSold] of [
    ['48 hours 59 minutes', false],
    ['49 hours 1 minute', true],
    ['1 minute', false],
  ] as const) {
    const buyer = await newBuyer(billing)
    await inTrial(buyer, left)
    const answer = await buyer.buy({kind: 'plan', planKey: 'team', afterTrial: true})
    if (!isSold) refusedWith(t, answer, [409, 'TRIAL_ENDING'], left)
    else {
      t.is(answer.status, 200, answer.text)
      const [page] = buyer.pages()
      const {subscription_data: data} = payment.world.store.get('~checkout', page!.id)!
      t.is(data.trial_end - page!.expires_at, 48 * 3600, 'the page is closed when the provider would refuse it')
      await payment.payCheckout(page!.id)
      await settle(page!.id)
      t.like(await buyer.me(), {plan: {key: 'trial'}})
    }
    t.is(buyer.pages().length, isSold ? 1 : 0)
  }
  await settleMoney(t, billing)
})

test('the expiry of a page for after the trial depends on the end of the trial', t => {
  const now = '2026-03-01T00:00:00.000Z'
  const after = (hours: number) => new Date(Date.parse(now) + hours * 3_600_000).toISOString()
  const hours = (trialEndsAt: string | null, status: 'trialing' | 'active' = 'trialing') =>
    (trialOf({status, trialEndsAt, now}).expiresAt - Date.parse(now) / 1000) / 3600
  t.is(hours(after(49)), 1)
  t.is(hours(after(60)), 12)
  for (const far of [72, 100, 14 * 24]) t.true(hours(after(far)) > 23.9 && hours(after(far)) < 24, 'less than the provider allows')
  t.throws(() => hours(after(48.999)), {message: /49 hours/})
  t.throws(() => hours(after(-1)), {message: /49 hours/})
  t.throws(() => hours(null, 'active'), {message: /not on trial/})
  t.throws(() => hours(after(100), 'active'), {message: /not on trial/})
})

test('credits are granted once, in the quantity sold, however often the page is settled', async t => {
  const {house, payment} = billing
  const buyer = await newBuyer(billing)
  const page = await buyer.openPack({quantity: 3})
  await settle(page)
  t.like(await buyer.me(), {credits: {purchased: 0}})
  await payment.payCheckout(page)
  await house.db.query(sql.unsafe`update credit_packs set credits = 1 where key = 'credits_500'`)
  try {
    await Promise.all(Array.from({length: 20}, () => settle(page)))
    for (let again = 0; again < 3; again++) await settle(page)
  } finally {
    await house.db.query(sql.unsafe`update credit_packs set credits = 500 where key = 'credits_500'`)
  }
  t.like(await buyer.me(), {credits: {purchased: 1500}})
  t.deepEqual(await creditLines(buyer), [['credits.purchased', 0, 1500, 'payment', null]])
  t.like(await buyer.row(page), {state: 'paid', settled: true, credits: 1500})
  const cardOf = () => payment.find(payment.find(page)!.customer)!.invoice_settings.default_payment_method
  const first = cardOf()
  t.is(payment.find(first)!.card.last4, '4242', 'it pays for top-ups')
  const other = await buyer.openPack()
  await payment.payCheckout(other, {card: 'pm_card_mastercard'})
  await settle(other)
  t.is(cardOf(), first)
  t.like(await buyer.me(), {credits: {purchased: 2000}})
  await settleMoney(t, billing)
})

test('a bank debit grants credits when the bank pays, and none when it fails', async t => {
  const {house, payment} = billing
  for (const outcome of ['succeeded', 'failed'] as const) {
    const buyer = await newBuyer(billing)
    const page = await buyer.openPack()
    await payment.payCheckout(page, {card: 'pm_bankDebit'})
    await settle(page)
    t.like(await buyer.row(page), {state: 'open', settled: false}, 'the bank has days')
    t.like(await buyer.me(), {credits: {purchased: 0}})
    await payment.advance(4 * 86_400)
    await settle(page)
    t.like(await buyer.row(page), {state: 'open'})
    const intent = payment.find(payment.find(page)!.payment_intent)!
    payment.world.store.put({...intent, status: 'requires_action'})
    await settle(page)
    t.like(await buyer.row(page), {state: 'open'}, 'the payer must still act')
    t.is(payment.find(payment.find(page)!.invoice)!.status, 'open')
    payment.world.store.put(intent)
    await payment.settleCheckout(page, outcome)
    await Promise.all(Array.from({length: 5}, () => settle(page)))
    const isPaid = outcome === 'succeeded'
    t.like(await buyer.row(page), {state: isPaid ? 'paid' : 'failed', settled: true})
    t.like(await buyer.me(), {credits: {purchased: isPaid ? 500 : 0}})
    t.is(payment.find(payment.find(page)!.customer)!.invoice_settings.default_payment_method, null, 'no card, so none for top-ups')
    t.is(payment.find(payment.find(page)!.invoice)!.status, isPaid ? 'paid' : 'void')
    const notices = await house.db.anyFirst(sql.unsafe`select kind from notices where org_id = ${buyer.org}`)
    t.deepEqual([...notices], isPaid ? [] : ['billing.payment_failed'])
  }
  await settleMoney(t, billing)
})

test('an expired page is marked expired; a page of another application is left alone', async t => {
  const {payment, stripe, prices} = billing
  const {openPack, openPlan, row} = await newBuyer(billing)
  const [pack, plan] = [await openPack(), await openPlan()]
  await payment.advance(25 * 3600)
  for (const page of [pack, plan]) {
    await settle(page)
    await settle(page)
    t.like(await row(page), {state: 'expired'})
  }
  const foreign = await stripe.checkout.sessions.create({
    mode: 'payment',
    line_items: [{price: prices.credits_500, quantity: 1}],
    success_url: 'https://else.example',
  })
  t.is(await settle(foreign.id), null)
})

test('a plan bought to follow the trial begins when the provider reports it active', async t => {
  const {payment} = billing
  await pass(billing, 0)
  const buyer = await newBuyer(billing)
  await inTrial(buyer, '5 days')
  const page = await buyer.openPlan({afterTrial: true})
  await payment.payCheckout(page)
  await settle(page)
  t.like(await buyer.me(), {plan: {key: 'trial'}})
  await pass(billing, 6)
  t.like(await buyer.me(), {plan: {key: 'free'}}, 'until we hear of it')
  await settle(page)
  t.like(await buyer.me(), {plan: {key: 'team'}, status: 'active'})
  t.is(payment.money(payment.find(page)!.customer).charged, 3000)
  await settleMoney(t, billing)
})

test('when a trial ends, overage of the plan bought to follow it stays enabled, unless that plan was cancelled', async t => {
  const {house, payment} = billing
  await pass(billing, 0)
  for (const isCancelled of [false, true]) {
    const buyer = await newBuyer(billing)
    await inTrial(buyer, '5 days')
    const page = await buyer.openPlan({afterTrial: true})
    await payment.payCheckout(page)
    await settle(page)
    await switchOverage(house.tools, {org: buyer.org, via: 'session'}, {enabled: true})
    if (isCancelled) await payment.dashboard.cancelNow(payment.find(page)!.subscription)
    if (isCancelled) await settle(page)
    await pass(billing, 6)
    await endTrials(house.db, {most: 100})
    await settle(page)
    const {plan, overageEnabled} = await readPlanStatus(house.db, buyer.org)
    t.deepEqual([plan.key, overageEnabled], isCancelled ? ['free', false] : ['team', true])
  }
  await settleMoney(t, billing)
})
