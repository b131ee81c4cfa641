import anyTest, {type TestFn} from 'ava'
import {type AwaitedChange, awaitChange, isApplied, queryOf, readAwaited} from '../../api/clients/widget/settings/awaited-change.ts'
import {type Billing, openBilling} from '../support/billing.ts'
import {newBuyer} from '../support/checkouts.ts'
import {ok} from '../support/importing.ts'

const test = anyTest.serial as TestFn
let billing: Billing
test.before(async t => {
  billing = await openBilling(t)
})

const free = {
  plan: {key: 'free', name: 'Free'},
  interval: null,
  subscription: null,
  pendingChange: null,
  cancelsAt: null,
  balance: {purchased: 0},
}
const bought = {kind: 'plan', planKey: 'business', interval: 'month'} as const

test('a paid plan is active only with a subscription to it, and a scheduled change replaces nothing before', t => {
  const paid = {...free, plan: {key: 'business', name: 'Business'}, interval: 'month', subscription: {}}
  t.true(isApplied(paid, bought))
  t.false(isApplied(free, bought))
  t.false(isApplied({...paid, subscription: null}, bought), 'a trial of the same plan')
  t.false(isApplied(paid, {...bought, interval: 'year'}))
  const following = {
    ...free,
    plan: {key: 'trial', name: 'Trial'},
    interval: 'month',
    subscription: {status: 'trialing', plan: {key: 'business'}},
  }
  t.true(isApplied(following, bought), 'a plan that follows the trial')
  t.false(
    isApplied({...following, subscription: {...following.subscription, status: 'incomplete'}}, bought),
    'its first payment is missing',
  )
  t.false(isApplied(paid, {kind: 'scheduled', planKey: 'team'}))
  const waiting = {...paid, pendingChange: {planKey: 'team'}}
  t.true(isApplied(waiting, {kind: 'scheduled', planKey: 'team'}))
  t.true(isApplied({...paid, cancelsAt: 'x'}, {kind: 'scheduled', planKey: 'free'}))
  t.false(isApplied(waiting, {kind: 'withdrawn'}))
  t.true(isApplied(paid, {kind: 'withdrawn'}))
  t.true(isApplied({...paid, balance: {purchased: 600}}, {kind: 'pack', purchased: 100}))
  t.false(isApplied({...paid, balance: {purchased: 100}}, {kind: 'pack', purchased: 100}))
})

test('the address after a payment names what was bought, and any other address nothing', t => {
  for (const awaited of [bought, {kind: 'pack', purchased: 120} as const])
    t.deepEqual(readAwaited(new URLSearchParams(queryOf(awaited))), awaited)
  t.is(readAwaited(new URLSearchParams('')), null)
  t.is(readAwaited(new URLSearchParams('paid=plan')), null)
})

test('waiting for a change ends after a minute, outlives failed requests, and stops when the page is left', async t => {
  const pauses: number[] = []
  const pause = async (ms: number) => void pauses.push(ms)
  t.false(await awaitChange(bought, {read: async () => free, pause}))
  t.is(
    pauses.reduce((sum, ms) => sum + ms, 0),
    58_500,
  )
  let reads = 0
  const read = async () => {
    reads++
    if (reads < 3) throw new Error('offline')
    return {...free, plan: {key: 'business', name: 'B'}, interval: 'month', subscription: {}}
  }
  t.true(await awaitChange(bought, {read, pause}))
  const gone = new AbortController()
  const left = awaitChange(bought, {read: async () => free, signal: gone.signal})
  gone.abort(new Error('left'))
  await t.throwsAsync(left, {message: 'left'})
})

test('after the Checkout page, a change for later and its withdrawal, the page learns of each without a reload', async t => {
  const {as, org, open} = await newBuyer(billing)
  const read = () => ok(as('GET', '/billing/summary'), 200)
  const shows = (awaited: AwaitedChange) => awaitChange(awaited, {read})
  const page = await open({kind: 'plan', planKey: 'business', interval: 'month'})
  t.false(isApplied(await read(), bought), 'nothing is paid yet')
  await billing.payment.payCheckout(page)
  t.true(await shows(bought))
  await ok(as('POST', `/orgs/${org}/billing/plan`, {planKey: 'team'}), 200)
  t.true(await shows({kind: 'scheduled', planKey: 'team'}))
  t.false(isApplied(await read(), bought), 'the offers say what is scheduled')
  await ok(as('DELETE', `/orgs/${org}/billing/plan/pending`), 200)
  t.true(await shows({kind: 'withdrawn'}))
  const {balance} = await read()
  await billing.payment.payCheckout(await open({kind: 'credit_pack', packKey: 'credits_500'}))
  t.true(await shows({kind: 'pack', purchased: balance.purchased}))
})
