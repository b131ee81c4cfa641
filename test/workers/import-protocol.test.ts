import test from 'ava'
import {accounts, ok, openOrg, prepareImport, runImport, untilEnded, untilRun} from '../support/importing.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery', 'imports']})
  org = await openOrg(here)
})
test.afterEach.always(() => here.crm.faults.clear())

const column = (field: string, source: string) => ({field, mode: 'column', source})
const orders = {module: 'Orders', fields: [column('Name', 'name'), column('Status', 'status')]}

test.serial('a picklist option is sent and searched by its display value, whichever of its values the file names', async t => {
  here.crm.setSwitches({strictPicklists: true})
  const {run} = await runImport(org, {csv: 'name,status\nPick A,Fresh\nPick B,New\nPick C,fresh\n', flow: orders})
  here.crm.setSwitches({strictPicklists: false})
  t.like(run.counts.Orders, {created: 3})
  const statuses = () =>
    Object.fromEntries(
      here.crm.records('example', 'Orders').flatMap(({Name, Status}) => (String(Name).startsWith('Pick') ? [[Name, Status]] : [])),
    )
  t.deepEqual(statuses(), {'Pick A': 'Fresh', 'Pick B': 'Fresh', 'Pick C': 'Fresh'})

  here.crm.create('example', 'Orders', [{Name: 'Only', Status: 'Cancelled'}])
  const matched = {...orders, match: {by: ['Status', 'Name'], onOne: 'update', onMany: 'skip', unchanged: 'write'}}
  const again = await runImport(org, {csv: 'name,status\nPick A,New\nOnly,cancelled\n', flow: matched})
  t.like(again.run.counts.Orders, {updated: 2})
})

test.serial('a picklist option that no layout offers any more is discovered, marked as unused, and accepted', async t => {
  const {discovery} = await ok(org.call('GET', `/orgs/${org.org}/discovery/latest`), 200)
  const {fields} = discovery.modules.find(({apiName}: {apiName: string}) => apiName === 'Orders')
  const {picklist} = fields.find(({apiName}: {apiName: string}) => apiName === 'Status')
  t.deepEqual(picklist.at(-1), {display: 'Withdrawn', actual: 'Withdrawn', unused: true})
  const {run} = await runImport(org, {csv: 'name,status\nGone,Withdrawn\n', flow: orders})
  t.like(run.counts.Orders, {created: 1})
})

test.serial('a value that the CRM cannot search for fails its own row only', async t => {
  here.crm.create('example', 'Accounts', [{Account_Name: 'Searched Ltd'}])
  const link = {field: 'Account', mode: 'search', source: 'company', searchField: 'Account_Name', searchMethod: 'word'}
  const long = 'x'.repeat(101)
  const csv = `name,company\nSeek A,Searched Ltd\nSeek B,--\nSeek C,${long}\n`
  const {run} = await runImport(org, {csv, flow: {module: 'Orders', fields: [column('Name', 'name'), link]}})
  t.is(run.stop, null)
  t.like(run.counts.Orders, {created: 1, failed: 2})
})

test.serial('searches that wrongly return nothing do not create a record twice', async t => {
  const rows = (of: string) => `name,number,city\n${Array.from({length: 120}, (_, n) => `${of} ${n},WE-${n},Town`).join('\n')}\n`
  const held = Array.from({length: 120}, (_, n) => ({Account_Name: `Held ${n}`, Account_Number: `WE-${n}`}))
  for (let from = 0; from < 120; from += 100) here.crm.create('example', 'Accounts', held.slice(from, from + 100))
  here.crm.faults.add({match: {path: '/crm/v8/coql', share: 0.3, seed: 7}, times: 1_000, action: {type: 'emptyBody', status: 204}})
  const {run} = await runImport(org, {csv: rows('Now'), flow: accounts})
  t.like(run.counts.Accounts, {updated: 120})
  t.is(here.crm.records('example', 'Accounts').filter(({Account_Number}) => String(Account_Number).startsWith('WE-')).length, 120)
})

test.serial('a run pauses without creating duplicates if searches find not even a record known to exist', async t => {
  const held = Array.from({length: 150}, (_, n) => ({Account_Name: `There ${n}`, Account_Number: `NF-${n}`}))
  for (let from = 0; from < 150; from += 100) here.crm.create('example', 'Accounts', held.slice(from, from + 100))
  const csv = `name,number,city\n${held.map(({Account_Name, Account_Number}) => `${Account_Name},${Account_Number},Town`).join('\n')}\n`
  const {path} = await prepareImport(org, {csv, flow: accounts})
  // The CRM refuses the query with three lists of values. The first list alone finds records, and later queries find nothing.
  here.crm.setSwitches({coqlCriteria: 1})
  t.teardown(() => here.crm.setSwitches({coqlCriteria: 25}))
  here.crm.faults.add({match: {path: '/crm/v8/coql', nth: 3}, times: 1_000, action: {type: 'emptyBody', status: 204}})
  const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  const paused = await untilRun(org.call, `${path}/runs/${run.id}`, ({state}) => state === 'paused' || state === 'ended')
  t.like(paused, {state: 'paused', pause: {code: 'CRM_UNAVAILABLE'}})
  await ok(org.call('POST', `${path}/runs/${run.id}/cancel`), 200)
  await untilEnded(org.call, `${path}/runs/${run.id}`)
  t.is(here.crm.records('example', 'Accounts').filter(({Account_Number}) => String(Account_Number).startsWith('NF-')).length, 150)
})
