import test from 'ava'
import {sql} from '../../sql/database.ts'
import {openOrg, prepareImport, runImport} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let here: TestDeployment
let org: Awaited<ReturnType<typeof openOrg>>

/** Field types that the vendor's SDK names, as the CRM's metadata describes them, and the reason why a column cannot fill each. */
const described: [name: string, describedAs: {data_type: string; json_type: string; lookup?: object}, why: RegExp][] = [
  ['Repeats', {data_type: 'RRULE', json_type: 'jsonobject'}, /rule of the calendar/],
  ['Alarm', {data_type: 'ALARM', json_type: 'jsonobject'}, /rule of the calendar/],
  ['Reminders', {data_type: 'multireminder', json_type: 'jsonarray'}, /rule of the calendar/],
  ['Reminder', {data_type: 'event_reminder', json_type: 'string'}, /rule of the calendar/],
  ['Hours', {data_type: 'time_range', json_type: 'jsonobject'}, /rule of the calendar/],
  ['Consent', {data_type: 'consent_lookup', json_type: 'jsonobject'}, /consent/],
  ['Any_Record', {data_type: 'multi_module_lookup', json_type: 'jsonobject'}, /several modules/],
  [
    'What_Id',
    {data_type: 'lookup', json_type: 'jsonobject', lookup: {module: {api_name: 'se_module', crypt: false, id: '1'}}},
    /several modules/,
  ],
  ['Helpers', {data_type: 'multiuserlookup', json_type: 'jsonarray'}, /adds links and removes none/],
  ['Line_Tax', {data_type: 'linetax', json_type: 'jsonarray'}, /taxes/],
  ['Pricing_Details', {data_type: 'text', json_type: 'jsonarray'}, /ranges of prices/],
  ['Participants', {data_type: 'text', json_type: 'jsonarray'}, /people of several modules/],
  ['Territories', {data_type: 'text', json_type: 'jsonarray'}, /territories/],
  ['Form', {data_type: 'layout', json_type: 'jsonobject'}, /layout/],
  ['Kind', {data_type: 'module', json_type: 'jsonobject'}, /module of the CRM/],
  ['Home', {data_type: 'address', json_type: 'jsonobject'}, /parts/],
  ['Papers', {data_type: 'fileupload', json_type: 'jsonarray'}, /files/],
  ['Picture', {data_type: 'imageupload', json_type: 'jsonarray'}, /files/],
  ['Later', {data_type: 'a_later_type', json_type: 'string'}, /not known/],
  ['Later_List', {data_type: 'a_later_type', json_type: 'jsonarray'}, /list or an object/],
]

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery', 'imports']})
  here.crm.addField('example', 'Orders', {name: 'Tag', type: 'tag'})
  here.crm.addField('example', 'Orders', {name: 'Rich', type: 'textarea', rich: true, describedAs: {data_type: 'richtextarea'}})
  here.crm.addField('example', 'Orders', {name: 'Passport', type: 'text', encrypted: true})
  here.crm.addField('example', 'Orders', {name: 'Pin', type: 'integer', encrypted: true})
  for (const [name, describedAs] of described) here.crm.addField('example', 'Orders', {name, type: 'text', describedAs})
  org = await openOrg(here)
})

const column = (source: string, field = source) => ({field, mode: 'column', source})
const flowOf = (...fields: object[]) => ({module: 'Orders', fields: [column('Name'), ...fields]})
const sent = () => here.crm.journal({method: 'POST', path: '/crm/v8/Orders'}).flatMap(({body}) => body.data)

for (const [name, {data_type}, why] of described)
  test(`a column cannot fill a field of type ${data_type} (${name}), and the check gives the reason`, async t => {
    const {path, source} = await prepareImport(org, {csv: `Name,${name}\na,b\n`, flow: flowOf()})
    const {status, body} = await org.call('PUT', `${path}/flows`, [{id: 'f', sourceId: source.id, ...flowOf(column(name))}])
    t.like({status, code: body.code, issues: body.issues.length}, {status: 400, code: 'INVALID', issues: 1})
    t.deepEqual(body.issues[0].path, [0, 'fields', 1, 'field'])
    t.true(body.issues[0].message.startsWith(`${name} is of type ${data_type}, which a column cannot fill: `), body.issues[0].message)
    t.regex(body.issues[0].message, why)
  })

const matchBy = (name: string) => ({by: [name], onOne: 'update', onMany: 'skip', unchanged: 'write'})

for (const [name, why] of [
  ['Passport', /it is encrypted/],
  ['Notes', /text of several lines/],
  ['Rich', /text of several lines/],
  ['Tag', /a list of tags/],
  ['Channels', /several values/],
] as const)
  test(`rows cannot be matched by ${name}, and the check gives the reason before any CRM call`, async t => {
    const {path, source} = await prepareImport(org, {csv: `Name,${name}\na,b\n`, flow: flowOf()})
    const flow = {...flowOf(column(name)), match: matchBy(name)}
    const {status, body} = await org.call('PUT', `${path}/flows`, [{id: 'f', sourceId: source.id, ...flow}])
    t.is(status, 400)
    t.deepEqual(
      body.issues.map(({path}: any) => path),
      [[0, 'match', 'by', 0]],
    )
    t.regex(body.issues[0].message, why)
  })

test('a stored flow that matches by a field with several values starts no run', async t => {
  const {path, source} = await prepareImport(org, {csv: 'Name,Channels\na,Web\n', flow: flowOf(column('Channels'))})
  const flows = [{id: 'f', sourceId: source.id, ...flowOf(column('Channels')), match: matchBy('Channels')}]
  await here.db.query(sql.unsafe`update imports set flows = ${sql.jsonb(flows)} where id = ${path.split('/').at(-1)!}`)
  const {status, body} = await org.call('POST', `${path}/runs`, {})
  t.deepEqual([status, body.code, body.issues[0].path], [409, 'NOT_READY', [0, 'match', 'by', 0]])
})

test('rows can be matched by an encrypted number', async t => {
  here.crm.create('example', 'Orders', [{Name: 'Pinned', Pin: 7}])
  const flow = {...flowOf(column('Pin')), match: {by: ['Pin'], onOne: 'update', onMany: 'skip', unchanged: 'write'}}
  const {run} = await runImport(org, {csv: 'Name,Pin\nRenamed,7\n', flow})
  t.like(run, {state: 'ended', counts: {Orders: {updated: 1, created: 0}}})
})

test('field values are sent in the format of the CRM: tags as names, date-times without milliseconds', async t => {
  const csv = 'Name,Tags,Due,Rich\nTagged,"new; big ;new",2026-03-02T09:15:40.250+01:00,<b>Bold</b>\nPlain,,,\n'
  const {run} = await runImport(org, {csv, flow: flowOf(column('Tags', 'Tag'), column('Due', 'Due_At'), column('Rich'))})
  t.like(run, {state: 'ended', counts: {Orders: {created: 2, refused: 0}}})
  const [tagged, plain] = ['Tagged', 'Plain'].map(name => sent().find(({Name}) => Name === name))
  t.deepEqual(tagged, {Name: 'Tagged', Tag: [{name: 'new'}, {name: 'big'}], Due_At: '2026-03-02T09:15:40+01:00', Rich: '<b>Bold</b>'})
  t.deepEqual(plain, {Name: 'Plain'})
  const record = here.crm.records('example', 'Orders').find(({Name}) => Name === 'Tagged')!
  t.deepEqual(
    record.Tag.map(({name}: any) => name),
    ['new', 'big'],
  )
})
