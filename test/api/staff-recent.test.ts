import test from 'ava'
import {startTestDeployment} from '../support/test-deployment.ts'

const outcomeOf = ({status, body}: {status: number; body: {code?: string}}) => [status, body.code]
const tooOld = [403, 'RECENT_SIGN_IN_REQUIRED']

test('staff can make changes only within 15 minutes of signing in, and a refresh does not count', async t => {
  const house = await startTestDeployment(t)
  const {org} = await house.makeOrg()
  const {person, token} = await house.makeStaff()
  const reason = 'A test'
  const writes = [
    ['POST', `/staff/orgs/${org}/view`, {reason}],
    ['POST', `/staff/orgs/${org}/close`, {reason}],
    ['POST', `/staff/orgs/${org}/reopen`, {}],
    ['POST', `/staff/orgs/${org}/plan`, {planVersionId: 'free.1', reason}],
    ['POST', `/staff/orgs/${org}/suspend`, {reason}],
    ['POST', `/staff/orgs/${org}/unsuspend`, {}],
    ['POST', `/staff/people/${person}/unban`, {}],
    ['POST', `/entitlements/admin/orgs/${org}/credits`, {pool: 'purchased', credits: 1, ref: 'one', reason}],
    ['PATCH', '/billing/admin/plans/free.1/payment', {}],
  ] as const
  const all = async (bearer: string) => {
    const outcomes = []
    for (const [method, path, body] of writes) outcomes.push(outcomeOf(await house.as(bearer)(method, path, body)))
    return outcomes
  }
  await house.ahead('14 minutes')
  for (const [status] of await all(token)) t.true(status === 200 || status === 201)
  await house.ahead('15 minutes 1 second')
  t.deepEqual(
    await all(token),
    writes.map(() => tooOld),
  )
  const refreshed = (await house.as(token)('POST', '/auth/session/refresh')).body.token
  t.deepEqual(outcomeOf(await house.as(refreshed)('POST', `/staff/orgs/${org}/suspend`, {reason})), tooOld)
  t.is((await house.as(token)('GET', '/staff/people')).status, 200, 'reading goes on')
  t.is((await house.as(house.adminToken)('POST', `/staff/orgs/${org}/suspend`, {reason})).status, 200, 'the operator has no sign-in')
})

test('a view opened in time lasts an hour', async t => {
  const house = await startTestDeployment(t)
  const {org} = await house.makeOrg()
  const view = await house.openView({org, write: true})
  await house.ahead('50 minutes')
  t.is((await house.as(view)('PATCH', `/orgs/${org}/config/settings`, {timezone: 'Europe/Berlin'})).status, 200)
})
