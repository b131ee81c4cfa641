import test from 'ava'
import {openBilling, pass, seedSubscription, settleMoney} from '../support/billing.ts'
import {refused} from '../support/entitlements.ts'
import {ok} from '../support/importing.ts'
import {until} from '../support/until.ts'

/** Checks what an org may start from the first failed payment until it pays. */
test('a failed payment stops nothing for seven days and metered use afterwards; paying restores everything', async t => {
  const billing = await openBilling(t, {workers: ['billing']})
  const {house, payment, stripe} = billing
  const {org, token} = await house.makeOrg()
  const {id, customer, default_payment_method: card, items} = await seedSubscription(billing, {org, planKey: 'team'})
  const {secret} = await ok(house.as(token)('POST', `/orgs/${org}/tokens`, {name: 'A test'}), 201)
  const call = house.as(secret)
  const authorise = () => call('POST', '/entitlements/runs/authorise', {declaredRows: 10})
  const untilStatus = (wanted: string) =>
    until(
      () => ok(call('GET', '/entitlements/me'), 200),
      ({plan, status}) => plan.key === 'team' && status === wanted,
    )
  await untilStatus('active')
  payment.setCard(card as string, 'insufficient_funds')
  // Changes are dated by our clock. Where their order matters, our clock follows the provider's in small steps.
  await pass(billing, (items.data[0]!.current_period_end - payment.now()) / 86_400 - 0.1)
  await pass(billing, 0.2)
  const late = await untilStatus('past_due')
  t.truthy(late.pastDue.graceEndsAt)
  const {runId} = await ok(authorise(), 200)

  await pass(billing, 7)
  t.is((await untilStatus('past_due')).pastDue.graceEndsAt, null, 'the grace period is over')
  refused(t, await authorise(), 'STATUS_PAST_DUE', [{by: 'payment'}])
  await ok(call('POST', `/entitlements/runs/${runId}/lease`), 200)
  t.is((await ok(call('POST', `/entitlements/runs/${runId}/progress`, {rowsWritten: 10, done: true}), 200)).run?.state ?? 'ended', 'ended')
  t.is((await ok(call('GET', '/entitlements/usage'), 200)).rows.used, 10, 'an authorised run completes')

  await pass(billing, 10)
  t.deepEqual((await untilStatus('suspended')).pastDue, {since: null, graceEndsAt: null})
  refused(t, await authorise(), 'STATUS_SUSPENDED', [{by: 'payment'}], /portal/)

  payment.setCard(card as string, 'ok')
  for (const {id: invoice} of (await stripe.invoices.list({customer: customer as string, status: 'open'})).data)
    await stripe.invoices.pay(invoice!)
  await payment.settle()
  t.is((await untilStatus('active')).pastDue, null)
  await ok(authorise(), 200)
  t.is((await stripe.subscriptions.retrieve(id)).status, 'active')
  await settleMoney(t, billing)
})
