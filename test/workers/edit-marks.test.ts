import {randomBytes} from 'node:crypto'
import test from 'ava'
import {resealMarkKeys} from '../../shared/mapping/edit-marks/reseal.ts'
import {accountRows, ok, openOrg, runImport, accounts as writing} from '../support/importing.ts'
import {openRetaining, setWindow} from '../support/retention.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

const keeping = {...writing, match: {...writing.match, unchanged: 'skip', onEdited: 'keep'}}

/**
 * Field types, each with three values. `base` and `other`: cells. `edited`: what a person enters, as the CRM shows it. `spelled`: the value of
 * `base` in another spelling. `more`: further options of the field.
 */
const types: {type: string; more?: object; base: string; spelled?: string; other: string; edited: unknown}[] = [
  {type: 'text', base: 'Soria', spelled: ' Soria ', other: 'Toledo', edited: 'Burgos'},
  {type: 'textarea', base: 'One line', other: 'Another line', edited: 'A line of a person'},
  {type: 'email', base: 'a@example.org', other: 'b@example.org', edited: 'c@example.org'},
  {type: 'phone', base: '+34 1', other: '+34 2', edited: '+34 3'},
  {type: 'website', base: 'https://a.example', other: 'https://b.example', edited: 'https://c.example'},
  {type: 'integer', base: '12', spelled: '012', other: '13', edited: 14},
  {type: 'double', more: {decimals: 2}, base: '1.5', spelled: '1.50', other: '1.6', edited: 1.7},
  {type: 'currency', more: {decimals: 2}, base: '10.10', spelled: '10.1', other: '10.2', edited: 10.3},
  {type: 'percent', base: '5', other: '6', edited: 7},
  {type: 'bigint', base: '9007199254740993', other: '9007199254740995', edited: '9007199254740997'},
  {type: 'boolean', base: 'true', spelled: 'yes', other: 'true', edited: false},
  {type: 'date', base: '2026-01-02', other: '2026-01-03', edited: '2026-01-04'},
  {
    type: 'datetime',
    base: '2026-01-02T10:00:00+02:00',
    spelled: '2026-01-02T08:00:00Z',
    other: '2026-01-02T11:00:00+02:00',
    edited: '2026-01-02T12:00:00+02:00',
  },
  {type: 'picklist', more: {options: ['Red', 'Green', 'Blue']}, base: 'Red', other: 'Green', edited: 'Blue'},
  {
    type: 'multiselectpicklist',
    more: {options: ['Red', 'Green', 'Blue']},
    base: 'Red;Green',
    spelled: 'Green;Red',
    other: 'Red',
    edited: ['Blue'],
  },
]
const nameOf = (type: string) => `Typed_${type}`

test('values of every type are compared with what was written last, in whatever spelling', async t => {
  const here = await startTestDeployment(t, {workers: ['discovery', 'imports'], environment: {CRM_LAG_SECONDS: '1'}})
  for (const {type, more} of types) here.crm.addField('example', 'Accounts', {name: nameOf(type), type: type as never, ...more})
  const org = await openOrg(here)
  const fields = types.map(({type}) => ({field: nameOf(type), mode: 'column', source: type}))
  const flow = {...keeping, fields: [...writing.fields.slice(0, 2), ...fields]}
  const cases = ['same', 'spelled', 'file', 'person', 'both', 'agreed', 'cleared'] as const
  type Case = (typeof cases)[number]
  const csvOf = (cellOf: (type: (typeof types)[number], is: Case) => string) => {
    const lines = cases.map(is => [is, `T-${is}`, ...types.map(one => cellOf(one, is))].map(cell => `"${cell}"`).join())
    return `name,number,${types.map(({type}) => type).join()}\n${lines.join('\n')}\n`
  }
  const recordOf = (is: Case) => here.crm.records('example', 'Accounts').find(({Account_Number: one}) => one === `T-${is}`)!
  await runImport(org, {csv: csvOf(({base}) => base), flow})
  const heldBy = (is: Case) => Object.fromEntries(types.map(({type}) => [type, recordOf(is)[nameOf(type)]]))
  const base = heldBy('same')
  const enter = (is: Case, enteredFor: (type: (typeof types)[number]) => unknown) =>
    here.crm.update('example', 'Accounts', [
      {id: recordOf(is).id, ...Object.fromEntries(types.map(one => [nameOf(one.type), enteredFor(one)]))},
    ])
  for (const is of ['person', 'both'] as const) t.is(enter(is, ({edited}) => edited)[0]!.status, 'success')
  enter('cleared', ({type}) => (type === 'boolean' ? false : null))
  const edited = heldBy('person')
  const cleared = heldBy('cleared')
  // In the case `agreed`, the person enters the next value of the file.
  await runImport(org, {csv: csvOf(({base, other}, is) => (is === 'file' ? other : base)), flow})
  const other = heldBy('file')
  enter('agreed', ({type}) => other[type])
  here.crm.clearJournal()
  const csv = csvOf(({base, spelled = base, other}, is) =>
    is === 'spelled' ? spelled : ['file', 'both', 'agreed'].includes(is) ? other : base,
  )
  const {run} = await runImport(org, {csv, flow})
  t.deepEqual(here.crm.journal({method: 'PUT', path: '/crm/v8/Accounts'}), [])
  t.like(run, {unchanged: 4, keptEdits: 3 * types.length, counts: {Accounts: {skipped: 7}}})
  t.deepEqual(
    cases.map(is => [is, heldBy(is)]),
    [
      ['same', base],
      ['spelled', base],
      ['file', other],
      ['person', edited],
      ['both', edited],
      ['agreed', other],
      ['cleared', cleared],
    ],
  )
  // In the case `agreed`, that value is now the base, so the next value of the file is written.
  t.like((await runImport(org, {csv: csvOf(({base}) => base), flow})).run, {counts: {Accounts: {updated: 2}}})
  t.deepEqual(heldBy('agreed'), base)
})

test('marks contain no value, are stored weekly, and are deleted two history windows after the last import', async t => {
  const {here, org, night} = await openRetaining(t)
  const csv = accountRows(5, 'P-')
  const marks = async () => (await here.hot.query('select record_id as id, marks, touched_at as at from written_records order by 1')).rows
  await runImport(org, {csv, flow: keeping})
  const first = await marks()
  t.is(first.length, 5)
  t.true(first.every(({marks}) => marks.length === 3 * 8))
  t.is(new Set(first.map(({marks}) => marks.toString('hex'))).size, 5, 'equal values of two records have different marks')
  await here.ahead('6 days')
  await runImport(org, {csv, flow: keeping})
  t.deepEqual(await marks(), first)
  await here.ahead('8 days')
  await runImport(org, {csv, flow: keeping})
  const again = await marks()
  t.deepEqual(
    again.map(({marks}) => marks),
    first.map(({marks}) => marks),
  )
  t.true(again.every(({at}, n) => at > first[n]!.at))
  await here.ahead('67 days')
  await night()
  t.is((await marks()).length, 5)
  await here.ahead('69 days')
  await night()
  t.deepEqual(await marks(), [])
})

test('marks stay for two weeks even if the history window is shorter, because they are stored weekly', async t => {
  const {here, org, night} = await openRetaining(t)
  await setWindow(here, org, 2)
  await runImport(org, {csv: accountRows(3, 'W-'), flow: keeping})
  const marks = async () => (await here.hot.query('select record_id from written_records')).rows.length
  for (const [days, left] of [
    [13, 3],
    [15, 0],
  ]) {
    await here.ahead(`${days} days`)
    await night()
    t.is(await marks(), left!, `after ${days} days`)
  }
})

test('marks belong to one org, and go with it', async t => {
  const here = await startTestDeployment(t, {workers: ['discovery', 'imports']})
  const [one, other] = [await openOrg(here), await openOrg(here, 'zoe@other.example')]
  for (const org of [one, other]) await runImport(org, {csv: accountRows(2, 'O-'), flow: keeping})
  const marksOf = async ({org}: {org: string}) =>
    (await here.hot.query('select record_id as id, marks from written_records where org_id = $1 order by 1', [org])).rows
  const [mine, theirs] = [await marksOf(one), await marksOf(other)]
  t.deepEqual([mine.length, theirs.length], [2, 2])
  await t.throwsAsync(here.hot.query('update written_records set org_id = $1 where org_id = $2', [other.org, one.org]), {
    message: /written_records/,
  })
  t.notDeepEqual(mine[0].marks, theirs[0].marks)
  await here.hot.query('delete from orgs where id = $1', [one.org])
  t.deepEqual([await marksOf(one), await marksOf(other)], [[], theirs])
})

test('the key of marks is sealed again under a new key, and marks stay valid', async t => {
  const here = await startTestDeployment(t, {workers: ['discovery', 'imports']})
  const org = await openOrg(here)
  await runImport(org, {csv: accountRows(1, 'K-'), flow: keeping})
  const added = {id: 'k2', key: randomBytes(32)}
  const tools = {db: here.db, ring: [added, ...here.config.SECRETS_KEYS], log: here.tools.log}
  t.deepEqual(await resealMarkKeys(tools), {resealed: 1, remaining: 0})
  t.deepEqual(await resealMarkKeys(tools), {resealed: 0, remaining: 0})
  t.deepEqual(await resealMarkKeys({...tools, ring: here.config.SECRETS_KEYS.concat(added)}), {resealed: 1, remaining: 0})
  t.is((await runImport(org, {csv: accountRows(1, 'K-'), flow: keeping})).run.unchanged, 1)
})

test('after the decimal places of a field are reduced, a value that was written with more places is no edit', async t => {
  const here = await startTestDeployment(t, {workers: ['discovery', 'imports'], environment: {CRM_LAG_SECONDS: '1'}})
  const size = {name: 'Size', type: 'double' as const, decimals: 4}
  here.crm.addField('example', 'Accounts', size)
  const org = await openOrg(here)
  const flow = {...keeping, fields: [...writing.fields.slice(0, 2), {field: 'Size', mode: 'column', source: 'size'}]}
  const write = (...cells: string[]) =>
    runImport(org, {csv: `name,number,size\n${cells.map((cell, n) => `Acme,N-${n},${cell}\n`).join('')}`, flow})
  const records = () => [0, 1].map(n => here.crm.records('example', 'Accounts').find(({Account_Number: one}) => one === `N-${n}`)!)
  await write('5.2561', '5.2561')
  here.crm.addField('example', 'Accounts', {...size, decimals: 2})
  await ok(org.call('POST', `/orgs/${org.org}/discovery/run`, {connectorId: org.connector}, {prefer: 'wait=30'}), 200)
  here.crm.update('example', 'Accounts', [{id: records()[1]!.id, Size: 5.27}])
  t.like((await write('7.1266', '7.1266')).run, {keptEdits: 1, counts: {Accounts: {updated: 1, skipped: 1}}})
  t.deepEqual(
    records().map(({Size}) => Size),
    [7.13, 5.27],
  )
  // The CRM stores the rounded value. The mark of the sent value matches it too.
  t.like((await write('8', '8')).run, {keptEdits: 1, counts: {Accounts: {updated: 1}}})
})
