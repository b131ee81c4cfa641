import anyTest, {type TestFn} from 'ava'
import {type Billing, openBilling, settleMoney} from '../support/billing.ts'
import {ok} from '../support/importing.ts'
import {callsOf, frozen, openPayer, openWaiting, refused, waitsAt} from '../support/plan-changing.ts'

/** The tests run serially, because they share one payment provider. */
const test = anyTest.serial as TestFn
let billing: Billing
test.before(async t => {
  billing = await openBilling(t, {workers: [], webhook: false})
})

const up = {planKey: 'enterprise'}

for (const waiting of ['N', 'D', 'C'] as const) {
  test(`a declined card leaves everything unchanged while ${waiting} is pending; a new card is charged anew`, async t => {
    const {payment} = billing
    const payer = await openWaiting(billing, waiting, {planKey: 'business'})
    const card = payer.found().default_payment_method
    const [before, charged, events] = [frozen(payer), payer.charged(), payment.all('event').length]
    payment.setCard(card, 'insufficient_funds')
    const {body} = await refused(t, payer.ask(up), 402, 'CARD_DECLINED')
    t.is(body.balance.available, body.balance.included + body.balance.purchased - body.balance.reserved)
    t.deepEqual(body.lift, [{by: 'payment'}])
    t.regex(body.error, /portal/)
    t.is(frozen(payer), before)
    t.is(payer.charged(), charged)
    t.is(payment.all('event').length, events)
    t.deepEqual(
      payment.all('invoice').filter(({customer, status}) => customer === payer.customer && status !== 'paid'),
      [],
    )
    t.deepEqual(callsOf(billing), ['update'])
    const declined = (await payer.changes()).at(-1)!
    t.like(declined, {kind: 'now', state: 'declined', error: 'card_declined'})

    payment.setCard(card, 'ok')
    t.true((await ok(payer.ask(up), 200)).due.amount > 39_000)
    t.is(waitsAt(payer), 'N')
    t.not((await payer.changes()).at(-1)!.id, declined.id)
    await settleMoney(t, billing)
  })
}

test('an org without a card is declined like one whose card fails', async t => {
  const {stripe} = billing
  const payer = await openPayer(billing, {planKey: 'team'})
  await stripe.paymentMethods.detach(payer.found().default_payment_method)
  t.is(payer.found().default_payment_method, null)
  const before = frozen(payer)
  await refused(t, payer.ask(up), 402, 'CARD_DECLINED')
  t.is(frozen(payer), before)
  t.like((await payer.changes()).at(-1), {kind: 'now', state: 'declined'})
  t.is((await ok(payer.ask({planKey: 'free'}), 200)).change, 'cancel', 'no card is needed to go')
  await settleMoney(t, billing)
})

test('a credit balance pays for an upgrade before the card, as previewed', async t => {
  const {stripe, payment} = billing
  const payer = await openPayer(billing, {planKey: 'business'})
  await stripe.customers.update(payer.customer, {balance: -1_000_000})
  payment.setCard(payer.found().default_payment_method, 'card_declined')
  const shown = await ok(payer.preview(up), 200)
  t.is(shown.due.amount, 0)
  const {due} = await ok(payer.ask({...up, previewToken: shown.previewToken}), 200)
  t.deepEqual([due, payer.charged()], [shown.due, 9000])
  await settleMoney(t, billing)
})

test('a subscription whose first payment is open refuses every plan change', async t => {
  const {stripe, payment, prices} = billing
  const payer = await openPayer(billing, {planKey: 'team'})
  await payment.dashboard.cancelNow(payer.id)
  payment.setCard(payer.found().default_payment_method, 'card_declined')
  const items = [{price: prices['team.month']}]
  const first = await stripe.subscriptions.create({customer: payer.customer, items, payment_behavior: 'allow_incomplete'})
  t.is(first.status, 'incomplete')
  for (const ask of [() => payer.ask(up), () => payer.ask({planKey: 'free'}), () => payer.preview(up), () => payer.takeBack()]) {
    const {body} = await refused(t, ask(), 409, 'NOT_SUBSCRIBED')
    t.regex(body.error, /first payment/)
  }
  await settleMoney(t, billing)
})
