import anyTest, {type TestFn} from 'ava'
import type {FaultSpec} from '../simulators/crm/faults.ts'
import {ok, openOrg} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

type Org = Awaited<ReturnType<typeof openOrg>>
type Here = {world: TestDeployment; production: Org; sandbox: Org}
/** The tests run serially, because they add faults to one stand-in. */
const test = anyTest.serial as TestFn<Here>

test.before(async t => {
  const here = await startTestDeployment(t, {workers: ['discovery']})
  const [production, sandbox] = [await openOrg(here), await openOrg(here, 'sam@sandbox.example')]
  Object.assign(t.context, {world: here, production, sandbox})
})
test.beforeEach(t => {
  t.context.world.crm.clear()
  t.context.world.crm.create('example', 'Leads', [{Last_Name: 'Ono', Company: 'Acme'}])
})

const answer = (status: number, body?: object) => ({type: 'answer' as const, status, ...(body && {body})})
const refusal = answer(400, {code: 'INVALID_DATA', details: {}, message: 'no', status: 'error'})
/** Returns a fault that answers every matching call of the path in the same way. */
const always = (path: string, action: FaultSpec['action'], match: FaultSpec['match'] = {}): FaultSpec => ({
  match: {method: path === 'coql' ? 'POST' : 'GET', path: `/crm/v8/${path}`, ...match},
  times: 1_000,
  action,
})
/** The doctor finds its sample record with the first query, the first read of a record and the first list of fields. */
const later = {nth: 2}
const someone = {data: [{id: '1'}]}
const picklist = {api_name: 'Rating', data_type: 'picklist', pick_list_values: [{display_value: 'Shown', actual_value: 'Stored'}]}
const odd = {api_name: 'Leads', generated_type: 'default', api_supported: true, display_field: 5}

const READS: [id: string, faults: FaultSpec[], seen: RegExp][] = [
  ['coql.quotedNames', [always('coql', answer(204), later)], /^HTTP 204$/],
  ['coql.links', [always('coql', answer(200, {data: [{Owner: 'Sam'}]}), later)], /^HTTP 200 1 in the list$/],
  ['coql.nothing', [always('coql', answer(200, {data: []}), later)], /^HTTP 200 0 in the list$/],
  ['ids.hundred', [always('Leads', answer(204))], /^HTTP 204$/],
  ['ids.more', [always('Leads', answer(200, someone))], /^HTTP 200/],
  ['ids.fields', [always('Leads', answer(200, someone))], /^HTTP 200/],
  ['ids.absent', [always('Leads/*', refusal, later)], /^HTTP 400 INVALID_DATA$/],
  ['ids.converted', [always('Leads', refusal)], /^HTTP 400 INVALID_DATA$/],
  ['ids.modifiedSince', [always('Leads/*', answer(200, someone), later)], /^HTTP 200/],
  ['timeline.entries', [always('Leads/*/__timeline', answer(200, {__timeline: [someone]}))], /^HTTP 200 1 in the list$/],
  ['errors.module', [always('settings/fields', refusal, later)], /^HTTP 400 INVALID_DATA$/],
  ['fields.include', [always('settings/fields', refusal, later)], /^HTTP 400 INVALID_DATA$/],
  ['modules.displayField', [always('settings/modules', answer(200, {modules: [odd]}))], /^number$/],
  [
    'picklist.names',
    [always('settings/fields', answer(200, {fields: [picklist]})), always('coql', answer(200, {data: [{Rating: 'Stored'}]}), later)],
    /^Actual value \(Rating\)$/,
  ],
  ['org.edition', [always('org', answer(200, {org: [{id: '1', type: 'production'}]}))], /^No edition$/],
  ['org.type', [always('org', answer(200, {org: [{id: '1', type: 'odd'}]}))], /^odd$/],
  ['credits.header', [always('org', answer(204), later)], /^Absent$/],
]
const WRITES: [id: string, faults: FaultSpec[], seen: RegExp][] = [
  ['write.create', [{match: {method: 'POST', path: '/crm/v8/Leads'}, action: 'successNoId'}], /^HTTP 201 SUCCESS$/],
  ['write.readAtOnce', [{...always('Leads/*', answer(204)), times: 1}], /^HTTP 204$/],
  ['write.delete', [always('Leads/*', answer(200, someone))], /^SUCCESS, then HTTP 200$/],
  ['write.restore', [always('settings/recycle_bin/actions/restore', refusal, {method: 'POST'})], /^HTTP 400 INVALID_DATA$/],
]

const runProbes = async ({call, org, connector}: Org, write: boolean) => {
  const path = `/orgs/${org}/connectors/${connector}/doctor`
  const {job} = (await call('POST', path, {write}, {prefer: 'wait=60'})).body
  if (job.state !== 'done') throw new Error(JSON.stringify(job))
  return (await ok(call('GET', path), 200)).report
}

for (const [table, write] of [
  [READS, false],
  [WRITES, true],
] as const)
  for (const [id, faults, seen] of table)
    test(`the doctor reports ${id} as different if the CRM answers otherwise, and names the consequence`, async t => {
      const {world, production, sandbox} = t.context
      for (const fault of faults) world.crm.faults.add(fault)
      const report = await runProbes(write ? sandbox : production, write)
      const probe = report.probes.find((one: any) => one.id === id)
      t.is(probe.verdict, 'different', JSON.stringify(probe))
      t.regex(probe.seen, seen)
      t.not(probe.consequence, 'None')
    })
