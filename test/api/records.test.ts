import anyTest, {type TestFn} from 'ava'
import {newId} from '../../shared/ids.ts'
import {sql} from '../../sql/database.ts'
import {type Org, openOrg} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

/** What the tests share: one CRM org. So they run serially. */
type Here = {world: TestDeployment; org: Org}
const test = anyTest.serial as TestFn<Here>

test.before(async t => {
  const here = await startTestDeployment(t, {workers: ['discovery']})
  Object.assign(t.context, {world: here, org: await openOrg(here)})
})
test.beforeEach(async t => {
  const {db, crm} = t.context.world
  crm.clear()
  await db.query(sql.unsafe`delete from crm_allowances`)
})

const make = ({world}: Here, module: string, records: Record<string, unknown>[]) =>
  world.crm.create('example', module, records).map(entry => String(entry.details.id))
const get = ({org}: Here, rest: string, connector = org.connector) =>
  org.call('GET', `/orgs/${org.org}/connectors/${connector}/records/${rest}`)
const word = (here: Here, module: string, query: Record<string, string>) => get(here, `${module}/word-search?${new URLSearchParams(query)}`)
const search = (here: Here, module: string, field: string, value: string) =>
  get(here, `${module}/search?${new URLSearchParams({field, value})}`)
const calls = ({world}: Here) => world.crm.journal({method: 'GET'}).map(({query}) => query as any)
const idsOf = ({body}: {body: any}) => body.records.map(({id}: any) => id)

test('a word search finds a page of records with their display names', async t => {
  const ids = make(t.context, 'Accounts', [{Account_Name: 'Acme Bolts'}, {Account_Name: 'Other'}, {Account_Name: 'Acme Nuts'}])
  const {status, body} = await word(t.context, 'Accounts', {word: 'acme'})
  t.is(status, 200)
  t.deepEqual(Object.keys(body), ['records'])
  t.deepEqual(
    body.records.map(({id, $display_name}: any) => [id, $display_name]),
    [
      [ids[2], 'Acme Nuts'],
      [ids[0], 'Acme Bolts'],
    ],
  )
  t.like(calls(t.context)[0], {word: 'acme', page: '1', per_page: '20'})
})

test('search pages count from one; an excessive page size is capped, an invalid one uses the default', async t => {
  make(
    t.context,
    'Accounts',
    Array.from({length: 25}, (_, n) => ({Account_Name: `Acme ${n}`})),
  )
  const sizes = async (query: object) => (await word(t.context, 'Accounts', {word: 'Acme', ...query})).body.records.length
  t.is(await sizes({}), 20)
  t.is(await sizes({page: '2'}), 5)
  t.is(await sizes({page: '3'}), 0)
  t.is(await sizes({perPage: '7', page: '4'}), 4)
  t.is(await sizes({perPage: 'many', page: '-1'}), 20)
  t.is(await sizes({perPage: '1000'}), 25)
  t.is(calls(t.context).at(-1).per_page, '200')
})

test('a search without hits returns an empty list, and a word too short for the CRM is not sent', async t => {
  t.deepEqual((await word(t.context, 'Leads', {word: 'nobody'})).body, {records: []})
  t.is(calls(t.context).length, 1)
  t.deepEqual((await word(t.context, 'Leads', {word: ' x '})).body, {records: []})
  t.deepEqual((await word(t.context, 'Leads', {word: ''})).body, {records: []})
  t.is(calls(t.context).length, 1)
  t.like(await get(t.context, 'Leads/word-search'), {status: 400, body: {code: 'INVALID'}})
})

test('a word is searched without its surrounding spaces, and refused if it is too long for the CRM', async t => {
  const [id] = make(t.context, 'Accounts', [{Account_Name: 'Acme'}])
  const long = 'ä'.repeat(100)
  t.deepEqual(idsOf(await word(t.context, 'Accounts', {word: '  acme '})), [id])
  t.deepEqual((await word(t.context, 'Accounts', {word: ` ${long} `})).body, {records: []})
  t.deepEqual(
    calls(t.context).map(query => query.word),
    ['acme', long],
  )
  t.like(await word(t.context, 'Accounts', {word: `${long}ä`}), {status: 400, body: {code: 'INVALID'}})
  t.is(calls(t.context).length, 2)
})

test('one record is read with its subform rows and its display name', async t => {
  const [order] = make(t.context, 'Orders', [{Name: 'O-1', Order_Lines: [{Product: 'Bolt', Quantity: 4}]}])
  const {status, body} = await get(t.context, `Orders/${order}`)
  t.is(status, 200)
  t.like(body.record, {id: order, Name: 'O-1', $display_name: 'O-1', $has_more: {Order_Lines: false}})
  t.like(body.record.Order_Lines[0], {Product: 'Bolt', Quantity: 4})
})

test('an absent record is not found, and an id the CRM cannot have is not sent', async t => {
  t.like(await get(t.context, 'Leads/4400001000000999999'), {status: 404, body: {code: 'NOT_FOUND'}})
  t.is(calls(t.context).length, 1)
  t.like(await get(t.context, 'Leads/nothing'), {status: 404, body: {code: 'NOT_FOUND'}})
  t.is(calls(t.context).length, 1)
})

test('a field search finds records with exactly this value, not those that contain it', async t => {
  const [one, , three] = make(t.context, 'Accounts', [
    {Account_Name: 'Acme'},
    {Account_Name: 'Acme Bolts'},
    {Account_Name: ' ACME '},
    {Account_Name: 'Ac-me'},
  ])
  t.deepEqual(idsOf(await search(t.context, 'Accounts', 'Account_Name', 'acme')).toSorted(), [one, three].toSorted())
  t.is((await search(t.context, 'Accounts', 'Account_Name', 'acme')).body.records.at(-1).$display_name, 'Acme')
  t.deepEqual((await search(t.context, 'Accounts', 'Account_Name', 'Ac')).body, {records: []})
})

test('a field search compares punctuation exactly and escapes the CRM’s special characters', async t => {
  const names = ['a-b', 'a_b', 'Smith (old), Ltd', 'back\\slash', "O'Neil"]
  const ids = make(
    t.context,
    'Accounts',
    names.map(Account_Name => ({Account_Name})),
  )
  for (const [at, name] of names.entries()) t.deepEqual(idsOf(await search(t.context, 'Accounts', 'Account_Name', name)), [ids[at]], name)
})

test('a field search compares numbers by value and reads every page', async t => {
  const ids = make(t.context, 'Orders', [
    {Name: 'O-1', Quantity: 10},
    {Name: 'O-2', Quantity: 100},
  ])
  t.deepEqual(idsOf(await search(t.context, 'Orders', 'Quantity', '10')), [ids[0]])
  make(
    t.context,
    'Accounts',
    Array.from({length: 250}, (_, n) => ({Account_Name: n % 2 ? 'Acme' : 'Acme Bolts'})),
  )
  t.is((await search(t.context, 'Accounts', 'Account_Name', 'Acme')).body.records.length, 125)
})

test('a field search needs a value and a field of the module', async t => {
  t.like(await get(t.context, 'Leads/search?field=Email'), {status: 400, body: {code: 'INVALID'}})
  t.like(await search(t.context, 'Leads', 'Nothing', 'x'), {status: 400, body: {code: 'INVALID'}})
  t.deepEqual((await search(t.context, 'Leads', 'Email', '  ')).body, {records: []})
  t.is(calls(t.context).length, 0)
})

const reads = ['Leads/word-search?word=anna', 'Leads/search?field=Last_Name&value=x', 'Leads/4400001000000999999']

test('an unknown connection and an unknown module are not found by any record route', async t => {
  for (const rest of reads) {
    t.deepEqual((await get(t.context, rest, newId('con'))).body, {error: 'No such connection', code: 'NOT_FOUND'})
    t.like(await get(t.context, rest.replace('Leads', 'Nothings')), {status: 404, body: {code: 'MODULE_NOT_FOUND'}})
  }
})

test('every record route passes on CRM refusals and missing answers', async t => {
  const {crm} = t.context.world
  for (const rest of reads) {
    crm.faults.add({match: {module: 'Leads'}, action: 'dropAfter'})
    t.like(await get(t.context, rest), {status: 502, body: {crm: {unanswered: true, status: null}}})
    crm.faults.add({match: {module: 'Leads'}, action: {type: 'rateLimit', retryAfter: 3}})
    const limited = await get(t.context, rest)
    t.like(limited, {status: 502, body: {crm: {rateLimited: true, retryAfterMs: 3000}}})
    t.is(limited.headers.get('retry-after'), '3')
  }
  crm.faults.add({match: {module: 'Leads'}, action: {type: 'rateLimit', credits: 0}})
  t.like(await get(t.context, reads[0]!), {status: 429, body: {crm: {quotaSpent: true}}})
  for (const rest of reads) t.like(await get(t.context, rest), {status: 429, body: {code: 'DAILY_ALLOWANCE_SPENT', crm: undefined}})
})
