import test from 'ava'
import {z} from 'zod'
import {sql} from '../../sql/database.ts'
import {ok, openOrg, prepareImport, readLog, runImport, untilEnded} from '../support/importing.ts'
import {assertAccounted} from '../support/oracle.ts'
import {startTestDeployment} from '../support/test-deployment.ts'
import {killAt, openLongLivedWorker, openWorkers} from '../support/worker-process.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery'], environment: {LEASE_SECONDS: '1.5', CRM_TIMEOUT_SECONDS: '5'}})
  org = await openOrg(here)
})
test.beforeEach(() => here.crm.clearJournal())
test.afterEach.always(() => here.crm.faults.clear())

const startWorker = openWorkers(() => here.config)
const standing = openLongLivedWorker(() => here.config)

const column = (field: string, source: string, more: object = {}) => ({field, mode: 'column', source, ...more})
const searched = (source: string, more: object = {}) => ({field: 'Account_Name', mode: 'search', source, ...more})
const contacts = (more: object = {}) => ({module: 'Contacts', fields: [column('Last_Name', 'name'), searched('company', more)]})
const makeAccounts = (...names: string[]) =>
  here.crm
    .create(
      'example',
      'Accounts',
      names.map(Account_Name => ({Account_Name})),
    )
    .map(({details}) => String(details.id))
const contactsNamed = (prefix: string) =>
  here.crm.records('example', 'Contacts').filter(({Last_Name}) => String(Last_Name).startsWith(prefix)) as any[]
const linkOf = (name: string) => contactsNamed(name)[0]?.Account_Name?.id ?? contactsNamed(name)[0]?.Account_Name ?? null

/** Returns the values in each lookup query. A query that found nothing and was repeated with a control value counts once. */
const asked = (module = 'Accounts') => {
  const lists = here.crm
    .journal()
    .filter(({path}) => path === '/crm/v8/coql')
    .map(({body}) => String(body.select_query))
    .filter(query => query.includes(`from ${module} `))
    .flatMap(query => {
      const list = [...query.matchAll(/ in \(((?:'(?:[^']|'')*',?)+)\)/g)].map(([, values]) => values!).join(',')
      return list === '' ? [] : [{list, hasControl: / or \w+ = '/.test(query)}]
    })
  return lists
    .filter(({list, hasControl}, at) => hasControl || !lists.slice(at + 1).some(one => one.hasControl && one.list === list))
    .map(({list}) => [...list.matchAll(/'((?:[^']|'')*)'/g)].map(([, value]) => value!))
}

const run = async (csv: string, flow: object | object[]) => {
  await standing.start()
  const {run: ended, path} = await runImport(org, {csv, flow})
  const log = await readLog(org.call, `${path}/runs/${ended.id}`)
  return {ended, path, log, lookups: log.filter(({phase}) => phase === 'lookup')}
}

test.serial('a lookup finds the record with the name of the cell, ignoring case and blanks', async t => {
  const [acme] = makeAccounts('Acme L-1', 'Acme L-11')
  const {ended, lookups} = await run('name,company\nLa,Acme L-1\nLb,  acme   l-1 \nLc,\n', contacts())
  t.like(ended.counts.Contacts, {created: 3})
  t.deepEqual([linkOf('La'), linkOf('Lb'), linkOf('Lc')], [acme, acme, null])
  t.deepEqual(lookups, [])
})

test.serial('each distinct lookup value is queried once per run, and many values share a query', async t => {
  const names = Array.from({length: 120}, (_, n) => `Once ${n}`)
  makeAccounts(...names)
  const csv = `name,company\n${Array.from({length: 720}, (_, n) => `O-${n},${names[n % 120]}`).join('\n')}\n`
  const {ended} = await run(csv, contacts())
  t.is(ended.counts.Contacts.created, 720)
  const values = asked()
  t.true(values.length <= 3, `${values.length} queries`)
  t.deepEqual(values.flat().sort(), names.sort())
  t.true(contactsNamed('O-').every(({Account_Name}) => Account_Name))
})

test.serial('each lookup value is queried once, even if the run has more values than it keeps in memory', async t => {
  const names = Array.from({length: 10_100}, (_, n) => `Much ${n}`)
  makeAccounts(...names)
  const values = [...names, ...names.slice(0, 100)]
  const {ended, lookups} = await run(`name,company\n${values.map((name, n) => `Mu-${n},${name}`).join('\n')}\n`, contacts())
  t.deepEqual([ended.counts.Contacts.created, lookups], [values.length, []])
  t.deepEqual(asked().flat().sort(), names.sort())
})

const policies: [policy: object, outcome: 'created' | 'failed' | 'skipped', entry: object][] = [
  [{}, 'created', {code: 'NONE', recordId: null, message: /: the link was left empty$/}],
  [{onNone: 'leave'}, 'created', {code: 'NONE'}],
  [{onNone: 'fail'}, 'failed', {code: 'NONE', message: /: the row was not written$/}],
  [{onNone: 'skip'}, 'skipped', {code: 'NONE', message: /: the row was skipped$/}],
]
for (const [at, [policy, outcome, entry]] of policies.entries()) {
  test.serial(
    `a row without a lookup result is ${outcome} under the policy ${JSON.stringify(policy)}, and the log explains the link`,
    async t => {
      const {ended, log, lookups, path} = await run(`name,company\nN${at}-a,Nobody\n`, contacts(policy))
      t.is(ended.counts.Contacts[outcome], 1)
      assertLike(t, lookups, [{rowNumber: 1, outcome: 'lookup', attempt: 0, target: 'Account_Name', module: 'Contacts', ...entry}])
      const [final] = log.filter(({phase}) => phase === 'write')
      if (outcome !== 'created') t.like(final, {code: 'LOOKUP_NONE', target: 'Account_Name', attempt: 0})
      t.is(contactsNamed(`N${at}-`).length, outcome === 'created' ? 1 : 0)
      t.false(JSON.stringify(log).includes('Nobody'), 'no value is in the log')
      t.is(log.length, 2)
      t.truthy(path)
    },
  )
}

const assertLike = (
  t: {like(a: any, b: any): unknown; is(a: unknown, b: unknown): unknown; regex(a: string, b: RegExp): unknown},
  found: any[],
  wanted: any[],
) => {
  t.is(found.length, wanted.length)
  for (const [at, {message, ...rest}] of wanted.entries()) {
    t.like(found[at], rest)
    if (message) t.regex(found[at].message, message)
  }
}

test.serial('a lookup with several results links the oldest record, leaves the link empty, skips the row or asks', async t => {
  const [oldest] = makeAccounts('Twins', 'twins')
  const of = async (name: string, onMany: string) => run(`name,company\n${name},Twins\n`, contacts({onMany}))
  const first = await of('Ma', 'first')
  assertLike(t, first.lookups, [{code: 'MANY', recordId: oldest, message: /^2 records .*: the first was linked$/}])
  t.is(linkOf('Ma'), oldest)
  const left = await of('Mb', 'leave')
  assertLike(t, left.lookups, [{code: 'MANY', recordId: null, message: /: the link was left empty$/}])
  t.is(linkOf('Mb'), null)
  const skipped = await of('Mc', 'skip')
  assertLike(t, skipped.lookups, [{code: 'MANY', message: /: the row was skipped$/}])
  t.like(skipped.ended.counts.Contacts, {created: 0, skipped: 1})
  const waits = await of('Md', 'ask')
  assertLike(t, waits.lookups, [{code: 'MANY', message: /: the row waits/}])
  t.like(waits.log.at(-1), {outcome: 'skipped', code: 'LOOKUP_MANY', target: 'Account_Name', attempt: 0})
  t.is(contactsNamed('Mc').length + contactsNamed('Md').length, 0)
})

test.serial('an ambiguous lookup value is asked about once, and the retry links the chosen record', async t => {
  const [, second] = makeAccounts('Choose me', 'Choose me')
  const {ended, path} = await run('name,company\nQa,Choose me\nQb,choose me\nQc,\n', contacts())
  t.like(ended.counts.Contacts, {created: 1, skipped: 2})
  const {questions} = await ok(org.call('GET', `${path}/runs/${ended.id}/questions`), 200)
  t.is(questions.length, 1)
  const answers = [{key: questions[0].key, recordId: second}]
  await ok(org.call('POST', `${path}/runs/${ended.id}/questions`, {answers}), 200)
  const {run: again} = await ok(org.call('POST', `${path}/runs`, {retryOf: ended.id}), 202)
  t.like((await untilEnded(org.call, `${path}/runs/${again.id}`)).counts.Contacts, {created: 2, inherited: 1})
  t.deepEqual([linkOf('Qa'), linkOf('Qb')], [second, second])
  const lookups = (await readLog(org.call, `${path}/runs/${again.id}`)).filter(({phase}) => phase === 'lookup')
  assertLike(t, lookups, [
    {code: 'CHOSEN', recordId: second, message: /: the chosen record was linked$/},
    {code: 'CHOSEN', recordId: second},
  ])
})

test.serial('a lookup can search a value made by an expression, in another field than the name', async t => {
  const [id] = here.crm
    .create('example', 'Accounts', [{Account_Name: 'By number', Account_Number: 'X-77'}])
    .map(({details}) => String(details.id))
  await run('name,company\nEa,77\n', contacts({searchField: 'Account_Number', searchExpression: '"X-" + value'}))
  t.is(linkOf('Ea'), id)
})

test.serial('free-text search runs only where the mapping says so, and links records with every word in the searched field', async t => {
  const [lab, exact] = makeAccounts('Wordy Labs Limited', 'Exact Word', 'Exact Word Two')
  here.crm.create('example', 'Accounts', [{Account_Name: 'Elsewhere', Description: 'Not Wordy Labs'}])
  const {lookups} = await run('name,company\nWa,wordy labs\nWb,Wordy Nothing\nWc,exact word\n', contacts({searchMethod: 'word'}))
  t.deepEqual([linkOf('Wa'), linkOf('Wc')], [lab, exact])
  assertLike(t, lookups, [{rowNumber: 2, code: 'NONE'}])
  t.deepEqual(asked(), [])
})

test.serial('users are looked up by email address or id, and the list of users is read once', async t => {
  const owner = here.crm.state().orgs.example!.users.find(({email}) => email === 'ana@example.org')!
  const order = (name: string, mail: string) => `${name},${mail}`
  const csv = `name,mail\n${[order('Pa', 'Ana@Example.org'), order('Pb', String(owner.id)), order('Pc', 'nobody@example.org')].join('\n')}\n`
  const {ended, log, lookups} = await run(csv, {module: 'Orders', fields: [column('Name', 'name'), column('Keeper', 'mail')]})
  t.like(ended.counts.Orders, {created: 2, failed: 1})
  t.like(
    log.filter(({outcome}) => outcome === 'failed'),
    [{rowNumber: 3, code: 'LOOKUP_NONE', target: 'Keeper'}],
  )
  assertLike(t, lookups, [{rowNumber: 3, code: 'NONE'}])
  const keepers = here.crm.records('example', 'Orders').filter(({Name}) => /^P[ab]$/.test(String(Name)))
  t.deepEqual(
    keepers.map(({Keeper}) => (Keeper as any).id ?? Keeper),
    [owner.id, owner.id],
  )
  t.is(here.crm.journal().filter(({path, query}) => path === '/crm/v8/users' && query.type === 'ActiveUsers').length, 1)
})

test.serial('records that the run itself created are linked without a query', async t => {
  const accounts = {module: 'Accounts', match: {by: ['Account_Name'], onMany: 'skip'}, fields: [column('Account_Name', 'company')]}
  const {ended, lookups} = await run('name,company\nRa,Own One\nRb,Own Two\nRc,OWN ONE\n', [accounts, contacts()])
  t.like(ended.counts, {Accounts: {created: 2, updated: 1}, Contacts: {created: 3}})
  const [one, two, three] = ['Ra', 'Rb', 'Rc'].map(linkOf)
  t.truthy(one)
  t.truthy(two)
  t.is(one, three)
  t.not(one, two)
  t.deepEqual(lookups, [])
  t.is(
    asked()
      .flat()
      .filter(value => value === 'Own Two').length,
    1,
    'once: to match the account itself',
  )
})

test.serial('a value that was not found is queried again after another flow wrote the searched module', async t => {
  const accounts = {module: 'Accounts', fields: [column('Account_Name', 'company')]}
  const {lookups, ended} = await run('name,company\nSa,Made between\n', [contacts(), accounts, contacts()])
  t.is(ended.counts.Contacts.created, 2)
  assertLike(t, lookups, [{flowId: 'f', code: 'NONE'}])
  t.is(contactsNamed('Sa').filter(({Account_Name}) => Account_Name).length, 1)
})

const values = Array.from({length: 300}, (_, n) => `Kept ${n}`)
const many = (prefix: string) =>
  `name,company\n${Array.from({length: 600}, (_, n) => `${prefix}${n},${values[(n * 7) % 300]}`).join('\n')}\n`
const witnessed = {
  module: 'Accounts',
  match: {by: ['Account_Number'], onOne: 'update', onMany: 'skip', unchanged: 'write'},
  fields: [column('Account_Name', 'name'), column('Account_Number', 'name'), {field: 'Parent_Account', mode: 'search', source: 'company'}],
}

for (const [point, makes] of [
  ['after_lookup:1', 150],
  ['after_intent:3', 150],
  ['after_send:4', 300],
] as const) {
  test.serial(
    `a worker killed at ${point} leaves its lookup results to the next: each value queried once, each link logged once`,
    async t => {
      const prefix = `V${point}-`
      await standing.stop()
      if (here.crm.records('example', 'Accounts').every(({Account_Name}) => Account_Name !== values[0]))
        makeAccounts(...values.slice(0, 150))
      else if (makes === 300) makeAccounts(...values.slice(150))
      here.crm.clearJournal()
      const {path} = await prepareImport(org, {csv: many(prefix), flow: witnessed})
      const {run: begun} = await ok(org.call('POST', `${path}/runs`, {}), 202)
      await killAt(startWorker, point)
      startWorker()
      const ended = await untilEnded(org.call, `${path}/runs/${begun.id}`)
      const {outcomes, log} = await assertAccounted(here, {org, path, run: ended, rows: 600})
      t.deepEqual(outcomes, {created: 600})
      const times = Map.groupBy(
        asked()
          .flat()
          .filter(value => value.startsWith('Kept ')),
        value => value,
      )
      t.is(times.size, 300)
      t.deepEqual(
        [...times.values()].filter(({length}) => length > 1),
        [],
      )
      const lookups = log.filter(({phase}) => phase === 'lookup')
      const unfound = makes === 150 ? 300 : 0
      t.is(lookups.length, unfound)
      t.is(new Set(lookups.map(({rowNumber}) => rowNumber)).size, unfound)
      const left = await here.db.oneFirst(sql.type(z.object({count: z.number()}))`
      select count(*) from run_lookups join runs using (run_no) where id = ${begun.id}`)
      t.is(left, 0, 'answers are kept for the run alone')
    },
  )
}

test.serial('a user after the first 4,000 is found', async t => {
  const names = {firstName: 'Uma', lastName: 'Many', profile: 'Standard', role: 'CEO'}
  for (let n = 1; n <= 4_000; n++) here.crm.addUser('example', {email: `uma${n}@many.example`, ...names})
  const {ended} = await run('name,mail\nVa,uma4000@many.example\n', {
    module: 'Orders',
    fields: [column('Name', 'name'), column('Keeper', 'mail')],
  })
  t.like(ended.counts.Orders, {created: 1})
})

test.serial('a lookup value that the CRM cannot be queried for fails its rows alone', async t => {
  here.crm.create('example', 'Accounts', [{Account_Name: 'Rich', Annual_Revenue: 4_711}])
  const {ended, log} = await run('name,company\nUa,4711\nUb,1e21\nUc,many\n', contacts({searchField: 'Annual_Revenue'}))
  t.like(ended.counts.Contacts, {created: 2, failed: 1})
  t.truthy(linkOf('Ua'))
  t.like(
    log.filter(({outcome}) => outcome === 'failed'),
    [{rowNumber: 2, code: 'LOOKUP_REFUSED'}],
  )
  makeAccounts('Q')
  const words = await run('name,company\nUd,Q\nUe,\n', contacts({searchMethod: 'word'}))
  t.like(words.ended.counts.Contacts, {created: 1, failed: 1})
  t.is(words.log.find(({outcome}) => outcome === 'failed')?.code, 'LOOKUP_REFUSED')
})
