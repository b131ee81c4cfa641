import test from 'ava'
import {ok, openOrg, runImport} from '../importing.ts'
import {world} from '../world.ts'

/** What the real CRM does differently from what one would guess. */
let here: Awaited<ReturnType<typeof world>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await world(t, {workers: ['discovery', 'imports']})
  org = await openOrg(here)
})
test.afterEach.always(() => here.crm.faults.clear())

const column = (field: string, source: string) => ({field, mode: 'column', source})
const orders = {module: 'Orders', fields: [column('Name', 'name'), column('Status', 'status')]}

test.serial('an option is sent, and searched for, by its display value, whichever of its values the file names', async t => {
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
  const matched = {...orders, match: {by: ['Status', 'Name'], onOne: 'update', onMany: 'skip'}}
  const again = await runImport(org, {csv: 'name,status\nPick A,New\nOnly,cancelled\n', flow: matched})
  t.like(again.run.counts.Orders, {updated: 2})
})

test.serial('an option that no layout offers any more is discovered, marked, and taken', async t => {
  const {discovery} = await ok(org.call('GET', `/orgs/${org.org}/discovery/latest`), 200)
  const {fields} = discovery.modules.find(({apiName}: {apiName: string}) => apiName === 'Orders')
  const {picklist} = fields.find(({apiName}: {apiName: string}) => apiName === 'Status')
  t.deepEqual(picklist.at(-1), {display: 'Withdrawn', actual: 'Withdrawn', unused: true})
  const {run} = await runImport(org, {csv: 'name,status\nGone,Withdrawn\n', flow: orders})
  t.like(run.counts.Orders, {created: 1})
})
