import test from 'ava'
import {accounts, type Org, ok, openOrg, runImport} from '../support/importing.ts'
import {makeTemplate} from '../support/schedules.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let house: TestDeployment
let org: Org

test.before(async t => {
  house = await startTestDeployment(t, {workers: ['imports', 'discovery']})
  org = await openOrg(house)
})

const records = [
  {name: 'Harbour "Foods", Ltd', number: 'J-1', address: {city: 'Bilbao'}},
  {name: 'Petit\nAtelier', number: 'J-2', address: {city: null, zip: '0123'}, tags: ['a', 'b']},
]
const flow = {...accounts, fields: accounts.fields.map(field => (field.source === 'city' ? {...field, source: 'address.city'} : field))}

for (const [kind, text] of Object.entries({
  'an array of objects': JSON.stringify(records),
  'one object a line': records.map(record => JSON.stringify(record)).join('\n'),
}))
  test.serial(`a JSON file of ${kind} is imported like a table with a column for each path`, async t => {
    const csv = text.replaceAll('J-', `${kind.length}-`)
    const {path, source, run} = await runImport(org, {csv, flow})
    const {import: read} = await ok(org.call('GET', path), 200)
    t.deepEqual(
      read.sources[0].columns.map(({name}: {name: string}) => name),
      ['name', 'number', 'address.city', 'address.zip', 'tags'],
    )
    t.like(read.sources[0], {rows: 2, reader: {format: 'csv', encoding: 'utf-8', delimiter: ','}})
    t.truthy(source)
    t.like(run.counts, {Accounts: {created: 2}})
    const results = await org.call('GET', `${path}/results.csv?run=${run.id}`)
    t.regex(results.text, /"?Harbour ""Foods"", Ltd"?/)
    t.true(results.text.includes('["a"') || results.text.includes('[""a""'))
  })

test.serial('a number beside a string with a decimal comma is written as the number that it is', async t => {
  const mixed = [
    {name: 'A', number: 'Jc-1', revenue: 1234.125},
    {name: 'B', number: 'Jc-2', revenue: 1.234},
    {name: 'C', number: 'Jc-3', revenue: '2,5'},
    {name: 'D', number: 'Jc-4', revenue: '1.234'},
  ]
  const fields = [
    {field: 'Account_Name', mode: 'column', source: 'name'},
    {field: 'Account_Number', mode: 'column', source: 'number'},
    {field: 'Annual_Revenue', mode: 'column', source: 'revenue'},
  ]
  const {run} = await runImport(org, {csv: JSON.stringify(mixed), flow: {...accounts, fields}})
  t.like(run.counts, {Accounts: {created: 4}})
  const made = house.crm.records('example', 'Accounts').filter(({Account_Number}) => String(Account_Number).startsWith('Jc-'))
  t.deepEqual(
    made.map(({Annual_Revenue}) => Annual_Revenue).toSorted((a, b) => Number(a) - Number(b)),
    [1.23, 2.5, 1234, 1234.13],
  )
})

test.serial('a JSON file that ends within a record is refused, and nothing is stored', async t => {
  const {import: made} = await ok(org.call('POST', `/orgs/${org.org}/imports`, {name: 'Cut', connectorId: org.connector}), 201)
  const path = `/orgs/${org.org}/imports/${made.id}`
  const answer = await org.call('POST', `${path}/sources?name=cut.json`, '[{"name":"A"},{"name":', {
    'content-type': 'application/octet-stream',
  })
  t.like(answer, {status: 422, body: {code: 'UNREADABLE'}})
  t.deepEqual((await ok(org.call('GET', path), 200)).import.sources, [])
})

test.serial('a JSON file keeps its form when it fills a slot whose template was made from another form of file', async t => {
  const slot = {slot: 'companies', label: 'Companies', columns: ['name', 'number', 'city']}
  const body = JSON.stringify([{name: 'A', number: 'Js-1', city: 'B'}])
  const wanted = {state: 'ready', sources: [{rows: 1, reader: {delimiter: ',', headerRow: true}, sniffed: {convertedFrom: 'json'}}]}
  const readers = [
    {delimiter: ';', headerRow: false},
    {format: 'xlsx', sheet: 'Companies'},
  ]
  for (const reader of readers) {
    const templateId = (await makeTemplate(org, {name: JSON.stringify(reader), sources: [{...slot, reader}]})).split('/').at(-1)
    const {import: made} = await ok(org.call('POST', `/orgs/${org.org}/imports`, {templateId}), 201)
    const path = `/orgs/${org.org}/imports/${made.id}`
    const {source} = await ok(org.call('POST', `${path}/sources?name=a.json`, body, {'content-type': 'application/octet-stream'}), 201)
    t.like((await ok(org.call('GET', path), 200)).import, wanted)
    t.like((await ok(org.call('PUT', `${path}/slots`, {companies: source.id}), 200)).import, wanted)
  }
})
