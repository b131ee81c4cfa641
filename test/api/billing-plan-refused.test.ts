import test from 'ava'
import {sql} from '../../sql/database.ts'
import {openBilling} from '../support/billing.ts'
import {refused} from '../support/plan-changing.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

/** Requests about the plan. */
const planCalls = [
  ['POST', 'plan', {planKey: 'business'}],
  ['POST', 'plan/preview', {planKey: 'business'}],
  ['DELETE', 'plan/pending', undefined],
] as const

test('a sandbox cannot change a plan', async t => {
  const {house} = await openBilling(t, {workers: [], webhook: false})
  const {org, token} = await house.makeOrg({role: 'owner'})
  await house.db.query(sql.unsafe`update orgs set sandbox = true where id = ${org}`)
  for (const [method, path, body] of planCalls)
    await refused(t, house.as(token)(method, `/orgs/${org}/billing/${path}`, body), 403, 'SANDBOX_ORG')
})

test('a deployment without a payment provider answers plan changes with NOT_CONFIGURED', async t => {
  const house = await startTestDeployment(t)
  const {org, token} = await house.makeOrg({role: 'owner'})
  for (const [method, path, body] of planCalls)
    await refused(t, house.as(token)(method, `/orgs/${org}/billing/${path}`, body), 503, 'NOT_CONFIGURED')
})
