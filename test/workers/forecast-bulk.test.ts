import test from 'ava'
import {accountRows, accounts, type Org, ok, openOrg, prepareImport, untilEnded} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let here: TestDeployment
let org: Org

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery', 'imports', 'checks']})
  here.crm.setSwitches({bulkSeconds: 0, bulkRowMs: 0})
  org = await openOrg(here)
})

const forecastOf = async (path: string) => {
  const {job} = await ok(org.call('POST', `${path}/forecast`, undefined, {prefer: 'wait=60'}), 200)
  return job.result
}

test('the forecast of the route with bulk jobs agrees with the ledger, and says why a flow cannot take it', async t => {
  const prepare = async (more: object) =>
    (await prepareImport(org, {csv: accountRows(400, 'Ge-'), flow: {...accounts, match: undefined, ...more}})).path
  const [, , blocked] = (await forecastOf(await prepare({}))).routes
  t.like(blocked, {write: 'bulk', blockedBy: 'The flow does not allow automations, and a bulk job may run them'})
  const path = await prepare({automations: true})
  const [, , route] = (await forecastOf(path)).routes
  t.like(route, {match: 'query', write: 'bulk', blockedBy: null})
  t.true(route.seconds.p50 >= 60)
  const before = here.crm.credits('example').used
  const {run} = await ok(org.call('POST', `${path}/runs`, {write: 'bulk'}), 202)
  const {credits, seconds} = route
  t.like(await untilEnded(org.call, `${path}/runs/${run.id}`), {
    routes: [{write: 'bulk'}],
    counts: {Accounts: {created: 400}},
    forecast: {credits, seconds},
  })
  const spent = here.crm.credits('example').used - before
  t.true(spent >= route.credits.min && spent <= route.credits.max, JSON.stringify({spent, route}))
})
