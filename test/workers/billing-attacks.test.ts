import test from 'ava'
import {erasePerson} from '../../shared/accounts/erasure.ts'
import {endBillingOf} from '../../shared/billing/ending.ts'
import {holdBilling, releaseBilling, underBillingLease} from '../../shared/billing/lease.ts'
import {settleCheckout} from '../../shared/billing/settle-checkout.ts'
import {findBillingAccount, lockHold} from '../../sql/billing-accounts.ts'
import {sql} from '../../sql/database.ts'
import {findSubscription} from '../../sql/subscriptions.ts'
import {applyEvents} from '../../workers/billing/events.ts'
import {type Billing, customerOf, openBilling, pass, seedSubscription, settleMoney} from '../support/billing.ts'
import {newBuyer, refusedWith} from '../support/checkouts.ts'
import {ok} from '../support/importing.ts'
import {makeEvent, planOf, sendWebhook} from '../support/payment-webhook.ts'
import {until} from '../support/until.ts'

/** A deployment without webhook and worker: only the tests deliver and apply events. */
let billing: Billing
test.before(async t => {
  billing = await openBilling(t, {workers: [], webhook: false})
})
test.afterEach.always(() => billing.payment.faults.clear())

const settle = (session: string) => settleCheckout(billing.house.tools, null, session)

/** Number of events delivered so far. */
let told = 0
/** Delivers an event and applies it, as the worker would. */
const hear = async (type: string, object: {id: string; customer?: unknown; object: string}) => {
  const {house} = billing
  const id = `evt_${(told += 1)}`
  await sendWebhook(house, makeEvent(id, type, object))
  return applyEvents({...house.tools, drain: new AbortController().signal} as never, id)
}

/**
 * Opens one of our checkout pages for a new customer. `other` gives the customer another plan without us, and applies its event. `pay` pays the
 * page.
 */
const bought = async () => {
  const {payment, stripe, prices} = billing
  const buyer = await newBuyer(billing)
  const page = await buyer.openPlan({planKey: 'business'})
  const customer = await customerOf(billing, buyer.org)
  const {id: card} = await stripe.paymentMethods.attach('pm_card_visa', {customer})
  const other = async () => {
    const made = await stripe.subscriptions.create({customer, items: [{price: prices['team.month']}], default_payment_method: card})
    await hear('customer.subscription.created', made as never)
    return made.id
  }
  return {...buyer, page, customer, other, pay: async () => (await payment.payCheckout(page)).subscription as string}
}

test.serial('of two paid plans, the one we know stays and the other is refunded, although the other began first', async t => {
  const {payment} = billing
  const {org, page, pay, other, customer} = await bought()
  const older = await pay()
  await payment.advance(60)
  const known = await other()
  await settle(page)
  await settle(page)
  t.is(payment.find(older)!.status, 'canceled')
  t.is(payment.find(known)!.status, 'active')
  t.is((await findSubscription(billing.house.db, org))!.id, known)
  t.like(payment.money(customer), {charged: 12_000, refunded: 9000})
  await settleMoney(t, billing)
})

test.serial('a plan that was canceled before the next one began is not refunded', async t => {
  const {payment} = billing
  const {page, pay, other, customer, me} = await bought()
  await payment.dashboard.cancelNow(await pay())
  await payment.advance(60)
  await other()
  await settle(page)
  t.like(payment.money(customer), {charged: 12_000, refunded: 0})
  t.like(await me(), {plan: {key: 'team'}})
})

test.serial('a process that outlives its billing lock cancels no subscription and writes nothing', async t => {
  const {house, payment} = billing
  const {org, page, pay, other, customer, row} = await bought()
  await other()
  const second = await pay()
  payment.faults.add({method: 'GET', path: `/v1/subscriptions/${second}`, nth: 2, action: {type: 'hold', when: 'after'}})
  const sleeping = t.throwsAsync(settle(page), {name: 'LeaseGone'})
  await until(
    () => payment.faults.held(),
    held => held === 1,
  )
  await house.ahead('121 seconds')
  const held = (await holdBilling(house.db, org))!
  t.truthy(held)
  payment.faults.release()
  await sleeping
  t.is(payment.find(second)!.status, 'active')
  t.is(payment.money(customer).refunded, 0)
  t.like(await row(page), {state: 'open'})
  t.true(await house.db.transaction(tx => lockHold(tx, held)), 'the sleeper gave back what is its own alone')
  await releaseBilling(house.tools, held)
  await settle(page)
  t.is(payment.find(second)!.status, 'canceled')
})

test.serial('a subscription waiting for its first payment does not replace a paid one', async t => {
  const {house, stripe, prices} = billing
  const {org} = await house.makeOrg()
  const paid = await seedSubscription(billing, {org, planKey: 'team'})
  await billing.payment.advance(60)
  const begun = await stripe.subscriptions.create({
    customer: paid.customer as string,
    items: [{price: prices['business.month']}],
    payment_behavior: 'default_incomplete',
  })
  t.is(begun.status, 'incomplete')
  await hear('customer.subscription.created', begun as never)
  await hear('customer.subscription.created', paid as never)
  t.like(await planOf(house, org), {plan: 'team.1', subscription: 'active'})
  await house.db.query(sql.unsafe`update subscriptions set subscription_id = ${begun.id}, status = 'incomplete' where org_id = ${org}`)
  await hear('customer.subscription.updated', paid as never)
  t.is((await findSubscription(house.db, org))!.id, paid.id)
})

test.serial('a plan whose price is unknown to us continues unchanged and ends with its subscription', async t => {
  const {house, payment, stripe} = billing
  const {org} = await house.makeOrg()
  const {id, customer} = await seedSubscription(billing, {org, planKey: 'team'})
  const about = {id, object: 'subscription', customer}
  await hear('customer.subscription.created', about)
  t.like(await planOf(house, org), {plan: 'team.1'})
  const {id: product} = await stripe.products.create({name: 'Agreed'})
  const agreed = await stripe.prices.create({product, currency: 'eur', unit_amount: 1, recurring: {interval: 'month'}})
  await stripe.subscriptions.update(id, {metadata: {plan_version_id: '', plan_key: ''}})
  await payment.dashboard.changePrice(id, agreed.id)
  await hear('customer.subscription.updated', about)
  t.like(await planOf(house, org), {plan: 'team.1', status: 'active', subscription: 'active'})
  await payment.dashboard.cancelNow(id)
  await hear('customer.subscription.deleted', about)
  t.like(await planOf(house, org), {plan: 'free.2', status: 'active', subscription: 'canceled'})
})

test.serial('an org that is closed while a checkout page is created keeps no payable page', async t => {
  const {house, payment} = billing
  for (const body of [
    {kind: 'plan', planKey: 'team'},
    {kind: 'credit_pack', packKey: 'credits_500'},
  ]) {
    const {org, buy, openPack, pages} = await newBuyer(billing)
    await openPack()
    payment.faults.add({method: 'POST', path: '/v1/checkout/sessions', action: {type: 'hold', when: 'before'}})
    const asking = buy(body)
    await until(
      () => payment.faults.held(),
      held => held === 1,
    )
    await house.db.query(sql.unsafe`update orgs set closed_at = lading_now() where id = ${org}`)
    await endBillingOf(house.tools as never, org, {when: 'period_end'})
    payment.faults.release()
    refusedWith(t, await asking, [403, 'ORG_CLOSED'])
    t.deepEqual(
      pages().map(({status}) => status),
      ['expired', 'expired'],
    )
  }
})

test.serial('an org whose customer was deleted at the provider can buy again on the same day', async t => {
  const {payment, stripe} = billing
  const {org, openPack} = await newBuyer(billing)
  await openPack()
  const gone = await customerOf(billing, org)
  await stripe.customers.del(gone)
  await hear('customer.deleted', {id: gone, object: 'customer'})
  const page = await openPack()
  t.not(await customerOf(billing, org), gone)
  await payment.payCheckout(page)
  await settle(page)
  await settleMoney(t, billing)
})

test.serial('an email address that the provider rejects does not stop a colleague from buying', async t => {
  const {payment} = billing
  const {org, buy, openPack, colleague} = await newBuyer(billing)
  payment.faults.add({method: 'POST', path: '/v1/customers', action: {type: 'status', status: 400}})
  refusedWith(t, await buy({kind: 'credit_pack', packKey: 'credits_500'}), [502, 'PAYMENT_PROVIDER_REFUSED'])
  const other = await colleague()
  await openPack({}, other.as)
  t.is(payment.find(await customerOf(billing, org))!.email, other.email)
})

test.serial("the email address of an erased payer is removed, and the next buyer's address replaces it", async t => {
  const {house, payment} = billing
  const {org, person, openPack, colleague} = await newBuyer(billing)
  await openPack()
  const customer = await customerOf(billing, org)
  const other = await colleague()
  await erasePerson(house.db, person, {force: true, reason: 'A test'})
  t.is((await findBillingAccount(house.db, org))!.email, null)
  await openPack({}, other.as)
  t.is(await customerOf(billing, org), customer)
  t.is(payment.find(customer)!.email, other.email)
})

test.serial("events delivered while an org's billing is locked and unlocked repeatedly are all queued", async t => {
  const {house} = billing
  const {org} = await house.makeOrg()
  const {id, customer} = await seedSubscription(billing, {org, planKey: 'team'})
  const left = Array.from({length: 120}, (_, n) => `evt_race_${n}`)
  const send = async () => {
    for (let event = left.pop(); event; event = left.pop())
      t.regex(
        String((await sendWebhook(house, makeEvent(event, 'invoice.paid', {id, object: 'subscription', customer}))).status),
        /^(200|409)$/,
      )
  }
  const hold = async () => {
    while (left.length > 0) await underBillingLease(house.tools, org, async () => {}).catch(() => null)
  }
  await Promise.all([send(), send(), send(), send(), hold(), hold()])
  const {rows} = await house.hot.query(
    `select status, count(*)::int as all, count(j.id)::int as sent from payment_events e
     left join pgboss.job j on j.name = 'payment.event' and j.data ->> 'event' = e.id and j.state = 'created'
     where e.org_id = $1 and e.id like 'evt_race_%' group by status`,
    [org],
  )
  const of = (status: string) => rows.find(row => row.status === status) ?? {all: 0, sent: 0}
  t.is(of('received').sent, of('received').all)
  t.true(of('deferred').all === 0 || of('deferred').sent > 0, JSON.stringify(rows))
})

test.serial(
  'a downgrade at renewal grants only its own credits for the period, even where the higher plan had granted its first',
  async t => {
    const {house, payment, stripe, prices} = billing
    for (const isLooked of [true, false]) {
      const {org, script} = await newBuyer(billing)
      const {id, customer} = await seedSubscription(billing, {org, planKey: 'business'})
      await pass(billing, 0.01)
      const about = {id, object: 'subscription', customer}
      await hear('customer.subscription.created', about)
      const me = () => ok(script('GET', '/entitlements/me'), 200)
      const {credits, period} = await me()
      t.is(credits.included, 2500)
      const {id: schedule, phases} = await stripe.subscriptionSchedules.create({from_subscription: id})
      const [now] = phases as [(typeof phases)[number]]
      await stripe.subscriptionSchedules.update(schedule, {
        end_behavior: 'release',
        proration_behavior: 'none',
        phases: [
          {items: [{price: prices['business.month'], quantity: 1}], start_date: now.start_date, end_date: now.end_date},
          {
            items: [{price: prices['team.month'], quantity: 1}],
            duration: {interval: 'month', interval_count: 1},
            billing_cycle_anchor: 'phase_start',
            proration_behavior: 'none',
          },
        ],
      })
      await hear('customer.subscription.updated', about)
      await pass(billing, 32)
      if (isLooked) t.is((await me()).credits.included, 2500, 'nobody has told us yet')
      await hear('customer.subscription.updated', about)
      t.like(await me(), {plan: {key: 'team'}, credits: {included: 500}, period: {start: period.end}})
      await hear('invoice.paid', about)
      t.like(await me(), {credits: {included: 500}})
      t.is(payment.find(id)!.items.data[0].price.id, prices['team.month'])
      const sums = `select sum(included)::int as sum, (select included::int from credit_accounts where org_id = $1) as now from credit_entries where org_id = $1`
      t.deepEqual((await house.hot.query(sums, [org])).rows, [{sum: 500, now: 500}])
    }
  },
)
