import test from 'ava'
import {type Org, ok, openOrg} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let here: TestDeployment
let org: Org

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery']})
  org = await openOrg(here)
})

const check = (flow: object, connectorId = org.connector) =>
  org.call('POST', `/orgs/${org.org}/flows/check`, {connectorId, flows: [{id: 'f', sourceId: '1 file.csv', module: 'Leads', ...flow}]})
const name = {field: 'Last_Name', mode: 'column', source: 'Any name of a column'}

test('flows are checked against the CRM without files, and the answer has them completed', async t => {
  const {flows, warnings} = await ok(check({fields: [name], match: {by: ['Last_Name']}}), 200)
  t.like(flows[0], {match: {by: ['Last_Name'], onOne: 'update', unchanged: 'skip'}})
  t.deepEqual(warnings, [])
  t.is((await check({fields: [{field: 'Last_Name', mode: 'expression', transform: 'row.anything.trim()'}]})).status, 200)
})

test('flows that do not fit are refused as setting them would be', async t => {
  const places = async (flow: object) => {
    const {status, body} = await check(flow)
    t.deepEqual([status, body.code], [400, 'INVALID'], JSON.stringify(body))
    return body.issues.map(({path}: any) => path.join('.'))
  }
  t.deepEqual(await places({module: 'Leeds', fields: [name]}), ['0.module'])
  t.deepEqual(await places({fields: [name, {field: 'Citty', mode: 'column', source: 'city'}]}), ['0.fields.1.field'])
  t.deepEqual(await places({fields: [{field: 'City', mode: 'column', source: 'city'}]}), ['0.fields'], 'a required field')
  t.deepEqual(await places({fields: [{...name, mode: 'expression', transform: 'row.x +'}]}), ['0.fields.0.transform'])
  t.deepEqual(await places({fields: [name], match: {by: ['Email']}}), ['0.match.by.0'])
})

test('disabled modules and connections of other orgs are refused', async t => {
  await ok(org.call('PATCH', `/orgs/${org.org}/config/modules/Deals`, {enabled: false}), 200)
  const disabled = await check({module: 'Deals', fields: [{field: 'Deal_Name', mode: 'column', source: 'x'}]})
  t.deepEqual([disabled.status, disabled.body.code], [409, 'MODULE_DISABLED'], disabled.text)
  const other = await here.makeOrg()
  const foreign = await here.as(other.token)('POST', `/orgs/${other.org}/flows/check`, {
    connectorId: org.connector,
    flows: [{id: 'f', sourceId: 's', module: 'Leads', fields: [name]}],
  })
  t.deepEqual([foreign.status, foreign.body.code], [404, 'CONNECTION_NOT_FOUND'], foreign.text)
})
