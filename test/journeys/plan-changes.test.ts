import test from 'ava'
import {openSession} from '../../shared/accounts/session.ts'
import {findSubscription, type Subscription} from '../../sql/subscriptions.ts'
import {openBilling, pass, settleMoney, subscribe} from '../support/billing.ts'
import {ok} from '../support/importing.ts'
import {until} from '../support/until.ts'

test("an org's rights follow its plan when it is bought, upgraded, downgraded at period end and canceled", async t => {
  const billing = await openBilling(t)
  const {house} = billing
  const {org, person, token} = await house.makeOrg({role: 'admin'})
  let call = house.as(token)
  const wait = (what: (row: Subscription) => boolean) =>
    until(
      () => findSubscription(house.db, org),
      row => row !== null && what(row),
    )
  const later = async (days: number) => {
    await pass(billing, days)
    call = house.as(await openSession(house.db, house.config, {person, org, role: 'admin'}))
  }
  const planNow = async () => (await ok(call('GET', '/entitlements/me'), 200)).plan.key
  const path = `/orgs/${org}/billing/plan`
  await subscribe(billing, {org, token, planKey: 'team'})

  const {previewToken, due} = await ok(call('POST', `${path}/preview`, {planKey: 'business'}), 200)
  t.deepEqual((await ok(call('POST', path, {planKey: 'business', previewToken}), 200)).due, due)
  await wait(({planVersionId}) => planVersionId === 'business.1')
  t.is(await planNow(), 'business')
  const {changes} = await ok(call('GET', `/orgs/${org}/config/changes?page=plan`), 200)
  t.like(changes[0], {subject: 'plan.changed', via: 'session', userId: person, after: {plan: 'business'}})

  await ok(call('POST', path, {planKey: 'team'}), 200)
  await wait(({pending}) => pending?.planKey === 'team')
  t.is(await planNow(), 'business')
  await later(31)
  await wait(({planVersionId}) => planVersionId === 'team.1')
  t.is(await planNow(), 'team')

  await ok(call('POST', path, {planKey: 'free'}), 200)
  await wait(({cancelsAt}) => cancelsAt !== null)
  t.is(await planNow(), 'team')
  await later(31)
  await wait(({status}) => status === 'canceled')
  t.is(await planNow(), 'free')
  await settleMoney(t, billing)
})
