import test from 'ava'
import {type Org, openOrg, runImport} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let here: TestDeployment
let org: Org

test.before(async t => {
  here = await startTestDeployment(t, {
    workers: ['discovery', 'imports'],
    environment: {LEASE_SECONDS: '2', CRM_TIMEOUT_SECONDS: '5', CRM_LAG_SECONDS: '1'},
  })
  org = await openOrg(here)
})

const orders = {
  module: 'Orders',
  match: {by: ['Code'], onOne: 'update', onMany: 'skip', unchanged: 'skip'},
  fields: ['Name', 'Code', 'Paid'].map(field => ({field, mode: 'column', source: field})),
}
const spellings = [
  {yes: 'True', no: 'False', skipped: 2},
  {yes: '1', no: '0', skipped: 2},
  {yes: 'On', no: 'Off', skipped: 0},
]

for (const [at, {yes, no, skipped}] of spellings.entries())
  test.serial(`of four rows with a checkbox that the export spells ${yes} or ${no}, ${skipped} are skipped as unchanged`, async t => {
    here.crm.setSwitches({bulkSeconds: 0, bulkRowMs: 0, bulkReadBooleans: [yes, no]})
    // Advances the clock, so that earlier runs no longer count as recent writes.
    await here.ahead(`${at + 1} minutes`)
    const made = [true, true, false, false].map((Paid, n) => ({Name: 'Order', Code: `${at}-${n}`, Paid}))
    // The run reads newer records again after the export.
    here.crm.clock.advance(-120_000)
    here.crm.create('example', 'Orders', made)
    here.crm.clock.advance(120_000)
    const csv = `Name,Code,Paid\n${['yes', 'no', 'yes', 'no'].map((paid, n) => `Order,${at}-${n},${paid}\n`).join('')}`
    const {run} = await runImport(org, {csv, flow: orders, start: {match: 'snapshot'}})
    t.like(run, {routes: [{match: 'snapshot'}], counts: {Orders: {created: 0, updated: 4 - skipped, skipped}}})
    const held = here.crm.records('example', 'Orders').filter(({Code}) => String(Code).startsWith(`${at}-`))
    t.deepEqual(Object.fromEntries(held.map(({Code, Paid}) => [Code, Paid])), {
      [`${at}-0`]: true,
      [`${at}-1`]: false,
      [`${at}-2`]: true,
      [`${at}-3`]: false,
    })
  })
