import anyTest, {type TestFn} from 'ava'
import {settleCheckout} from '../../shared/billing/settle-checkout.ts'
import {settleStaleCheckouts} from '../../shared/billing/stale-checkouts.ts'
import {sql} from '../../sql/database.ts'
import {findSubscription} from '../../sql/subscriptions.ts'
import {type Billing, customerOf, openBilling, sessionOf, settleMoney} from '../support/billing.ts'
import {newBuyer, refusedWith, typeCard} from '../support/checkouts.ts'
import {until} from '../support/until.ts'

/** The tests run serially, because they share one payment provider. */
const test = anyTest.serial as TestFn
let billing: Billing
test.before(async t => {
  billing = await openBilling(t, {workers: [], webhook: false})
})
test.beforeEach(() => billing.house.ahead('0 seconds'))
test.afterEach.always(() => {
  billing.payment.faults.release()
  billing.payment.faults.clear()
})

const [team, business] = [
  {kind: 'plan', planKey: 'team'},
  {kind: 'plan', planKey: 'business'},
]
const sessions = '/v1/checkout/sessions'
const held = () =>
  until(
    () => billing.payment.faults.held(),
    count => count > 0,
  )

test('two admins who open Checkout at the same second end with one open page, whose link was returned', async t => {
  const {house, payment} = billing
  const {org, buy, colleague, pages} = await newBuyer(billing)
  const other = await colleague()
  for (let round = 0; round < 3; round++) {
    const answers = await Promise.all([buy(team), buy(business, other.as), buy({...team, interval: 'year'}), buy(business, other.as)])
    for (const {status, body, text} of answers) t.true(status === 200 || body.code === 'CHECKOUT_SUPERSEDED', text)
    const open = pages().filter(({status}) => status === 'open')
    t.is(open.length, 1)
    t.true(answers.some(({body}) => body.url === open[0]!.url))
    const rows = await house.db.anyFirst(sql.unsafe`select session_id from checkouts where org_id = ${org} and state = 'open'`)
    t.deepEqual(rows as string[], [open[0]!.id])
  }
  t.is(payment.all('customer').filter(({metadata}) => metadata.org_id === org).length, 1)
  const [open] = pages().filter(({status}) => status === 'open')
  await payment.payCheckout(open!.id)
  await settleCheckout(house.tools, null, open!.id)
  await settleMoney(t, billing)
})

test('a later Checkout supersedes one in progress: the earlier request says so and its page is closed', async t => {
  const {payment} = billing
  for (const when of ['before', 'after'] as const) {
    const {buy, openPlan, colleague, pages} = await newBuyer(billing)
    payment.faults.add({method: 'POST', path: sessions, action: {type: 'hold', when}})
    const slow = buy(team)
    await held()
    const page = await openPlan({planKey: 'business'}, (await colleague()).as)
    payment.faults.release()
    refusedWith(t, await slow, [409, 'CHECKOUT_SUPERSEDED'])
    t.deepEqual(
      pages().flatMap(({id, status}) => (status === 'open' ? [id] : [])),
      [page],
    )
    t.is(pages().length, 2)
  }
})

test('a superseded request leaves the later page open', async t => {
  const {payment} = billing
  const {buy, openPlan, colleague, pages} = await newBuyer(billing)
  await openPlan()
  payment.faults.add({method: 'GET', path: sessions, action: {type: 'hold', when: 'before'}})
  const slow = buy(team)
  await held()
  const page = await openPlan({planKey: 'business'}, (await colleague()).as)
  payment.faults.release()
  refusedWith(t, await slow, [409, 'CHECKOUT_SUPERSEDED'])
  t.is(payment.find(page)!.status, 'open')
  t.is(pages().length, 2, 'and makes none of its own')
})

test('a page paid while it is superseded gives the org its plan, and no second page opens', async t => {
  const {house, payment} = billing
  const moments = [
    ['GET', sessions, 'before'],
    ['GET', sessions, 'after'],
    ['POST', `${sessions}/*/expire`, 'before'],
    ['GET', '/v1/subscriptions', 'before'],
  ] as const
  for (const [method, path, when] of moments) {
    const {org, buy, openPlan, colleague, pages, me, row} = await newBuyer(billing)
    const page = await openPlan()
    // When the subscriptions are read, the earlier page is already closed.
    const isLate = path === '/v1/subscriptions'
    payment.faults.add({method, path, action: {type: 'hold', when}})
    const superseding = buy(business, (await colleague()).as)
    await held()
    const paid = await typeCard(pages()[0]!.url ?? `${payment.url}/c/pay/${page}`, '4242424242424242')
    t.is(paid.status, isLate ? 410 : 303, path)
    payment.faults.release()
    const answer = await superseding
    if (isLate) t.is(answer.status, 200)
    else {
      refusedWith(t, answer, [409, 'ALREADY_SUBSCRIBED'], path)
      t.is(pages().length, 1)
      t.like(await findSubscription(house.db, org), {status: 'active', planVersionId: 'team.1'})
      t.like(await me(), {plan: {key: 'team'}, status: 'active'})
      t.like(await row(page), {state: 'complete'})
      await settleCheckout(house.tools, null, page)
    }
    await settleMoney(t, billing)
  }
})

test('an older page cannot be paid once a newer one is open', async t => {
  const {house, payment} = billing
  const {openPlan, colleague, me} = await newBuyer(billing)
  const older = await openPlan()
  const oldUrl = payment.find(older)!.url
  const newer = await openPlan({planKey: 'business'}, (await colleague()).as)
  t.is((await typeCard(oldUrl, '4242424242424242')).status, 410)
  await payment.payCheckout(newer)
  t.is((await typeCard(oldUrl, '4242424242424242')).status, 410)
  for (const page of [older, newer, older]) await settleCheckout(house.tools, null, page)
  t.like(await me(), {plan: {key: 'business'}})
  await settleMoney(t, billing)
})

test('a new page is not opened while the earlier one cannot be closed', async t => {
  const {payment} = billing
  const {buy, openPlan, pages} = await newBuyer(billing)
  const page = await openPlan()
  payment.faults.add({method: 'POST', path: `${sessions}/*/expire`, times: 3, action: {type: 'status', status: 500}})
  refusedWith(t, await buy(business), [503, 'PAYMENT_PROVIDER_UNAVAILABLE'])
  t.deepEqual(
    pages().map(({id, status}) => [id, status]),
    [[page, 'open']],
  )
})

test('a retry after a lost answer returns the page that was made', async t => {
  const {payment} = billing
  const {buy, pages} = await newBuyer(billing)
  payment.faults.add({method: 'POST', path: sessions, action: {type: 'reset', when: 'after'}})
  const {status, body} = await buy(team)
  t.is(status, 200)
  t.deepEqual(
    pages().map(({id}) => id),
    [sessionOf(body.url)],
  )
})

test('after an answer is lost for good, the next request returns the one open page and closes the other', async t => {
  const {house, payment} = billing
  const {org, buy, openPlan, openPack, pages} = await newBuyer(billing)
  const lose = () => payment.faults.add({method: 'POST', path: sessions, times: 4, action: {type: 'reset', when: 'after'}})
  lose()
  refusedWith(t, await buy(team), [503, 'PAYMENT_PROVIDER_UNAVAILABLE'])
  payment.faults.clear()
  t.is(pages().length, 1)
  const page = await openPlan()
  t.deepEqual(
    pages().map(({status}) => status),
    ['expired', 'open'],
  )
  t.is(pages()[1]!.id, page)

  await openPack()
  lose()
  refusedWith(t, await buy({kind: 'credit_pack', packKey: 'credits_500'}), [503, 'PAYMENT_PROVIDER_UNAVAILABLE'])
  payment.faults.clear()
  payment.faults.add({method: 'POST', path: sessions, times: 4, action: {type: 'reset', when: 'before'}})
  refusedWith(t, await buy({kind: 'credit_pack', packKey: 'credits_500'}), [503, 'PAYMENT_PROVIDER_UNAVAILABLE'])
  payment.faults.clear()

  const states = async () => {
    return await house.db.anyFirst(sql.unsafe`select kind || ' ' || state from checkouts where org_id = ${org} order by id`)
  }
  const before = await states()
  t.deepEqual(before, ['plan expired', 'plan open', 'credit_pack open', 'credit_pack started', 'credit_pack started'])
  await settleStaleCheckouts(house.tools, org)
  t.deepEqual(await states(), before, 'whoever made them may still be at it')
  await house.ahead('11 minutes')
  await settleStaleCheckouts(house.tools, org)
  t.deepEqual(await states(), ['plan expired', 'plan open', 'credit_pack open', 'credit_pack expired', 'credit_pack expired'])
  t.deepEqual(
    pages().map(({mode, status}) => [mode, status]),
    [
      ['subscription', 'expired'],
      ['subscription', 'open'],
      ['payment', 'open'],
      ['payment', 'expired'],
      ['payment', 'expired'],
    ],
    'the one whose answer was lost was found, not made again',
  )
  await settleMoney(t, billing)
})

test('a Checkout whose process died before calling the provider ends after a day without a call', async t => {
  const {house, payment} = billing
  const {org, buy} = await newBuyer(billing)
  payment.faults.add({method: 'POST', path: sessions, times: 4, action: {type: 'reset', when: 'before'}})
  refusedWith(t, await buy(team), [503, 'PAYMENT_PROVIDER_UNAVAILABLE'])
  payment.faults.clear()
  await house.ahead('24 hours')
  payment.clearJournal()
  await settleStaleCheckouts(house.tools, org)
  t.is(payment.journal({method: 'POST'}).length, 0)
  t.is(await house.db.oneFirst(sql.unsafe`select state from checkouts where org_id = ${org}`), 'failed')
})

test('a page whose payment or expiry was missed is found later', async t => {
  const {house, payment} = billing
  const [one, two, three] = [await newBuyer(billing), await newBuyer(billing), await newBuyer(billing)]
  const [plan, pack, forgotten] = [await one.openPlan(), await two.openPack(), await three.openPlan()]
  await payment.payCheckout(plan)
  await payment.payCheckout(pack)
  await house.ahead('11 minutes')
  for (const {org} of [one, two, three]) await settleStaleCheckouts(house.tools, org)
  t.like(await one.me(), {plan: {key: 'team'}})
  t.like(await two.me(), {credits: {purchased: 500}})
  t.like(await three.row(forgotten), {state: 'open'}, 'somebody may be typing there')
  await payment.dashboard.cancelNow(payment.find(plan)!.subscription)
  t.is(await customerOf(billing, one.org), payment.find(plan)!.customer)
  await settleMoney(t, billing)
  await payment.advance(24 * 3600)
  await house.ahead('24 hours 1 minute')
  await settleStaleCheckouts(house.tools, three.org)
  t.like(await three.row(forgotten), {state: 'expired'})
})
