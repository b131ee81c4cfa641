import test from 'ava'
import {doNight} from '../../workers/retention/night.ts'
import {ok} from '../support/importing.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

test('the nightly purge deletes settings history and audit events older than AUDIT_DAYS, and keeps staff actions', async t => {
  const house = await startTestDeployment(t, {environment: {AUDIT_DAYS: '30'}})
  const {org, token} = await house.makeOrg()
  const {secret} = await ok(house.as(token)('POST', `/orgs/${org}/tokens`, {name: 'old'}), 201)
  await house.openView({org})
  const kinds = async () =>
    (await house.as(secret)('GET', `/orgs/${org}/audit`)).text
      .split('\n')
      .filter(Boolean)
      .map(line => JSON.parse(line).kind)
  const drain = new AbortController().signal
  await house.ahead('29 days')
  t.true(await doNight({...house.tools, drain}))
  t.deepEqual(await kinds(), ['session.created', 'token.created', 'staff.view'])
  await house.ahead('31 days')
  t.true(await doNight({...house.tools, drain}))
  t.deepEqual(await kinds(), ['staff.view', 'audit.exported'])
})
