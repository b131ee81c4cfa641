import test, {type ExecutionContext} from 'ava'
import {deleteOldFirings} from '../../sql/retention.ts'
import {accountRows, type Org, ok, openOrg} from '../support/importing.ts'
import {type FileHost, fire, listFirings, makeSchedule, noticesOf, startFileHost, untilOver} from '../support/schedules.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let house: TestDeployment
let host: FileHost
let org: Org

test.before(async t => {
  host = await startFileHost()
  const workers = ['imports', 'discovery', 'schedules', 'clock']
  house = await startTestDeployment(t, {workers, environment: {PRIVATE_HOSTS: host.place, LEASE_SECONDS: '2'}})
  org = await openOrg(house)
})
test.after.always(() => host.stop())

const make = async (contract: object, more: object = {}) => {
  await house.hot.query(`update schedules set enabled = false, next_due_at = null where created_by is not null`)
  const made = await makeSchedule(org, host, more)
  await ok(org.call('PUT', `${made.template}/contract`, contract), 200)
  return made
}

const idOf = (path: string) => path.split('/').at(-1)!
const source = (columns: object[], more: object = {}) => ({sources: [{slot: 'companies', columns, ...more}]})
const readContract = async (template: string) => (await ok(org.call('GET', `${template}/contract`), 200)).contract
const decide = (path: string, firing: {id: string}, decision: string, body: object = {}) =>
  org.call('POST', `${path}/firings/${firing.id}/${decision}`, body)
/** Authorises a run of a held file's import that no engine starts. */
const authorise = (importId: string) => ok(org.call('POST', '/entitlements/runs/authorise', {importId, declaredRows: 1}), 200)
const createdBy = async (importId: string) => (await org.call('GET', `/orgs/${org.org}/imports/${importId}`)).status

type Kind = {title: string; columns: object[]; more?: object; kept: string; broken: string; breach: object}

/** Every kind of expectation, with a file that meets it and one that does not. */
const kinds: Kind[] = [
  {
    title: 'a missing column',
    columns: [{name: 'city'}],
    kept: 'name,number,city\nA,k1,B\n',
    broken: 'name,number,town\nA,k2,B\n',
    breach: {expectation: 'column', column: 'city', expected: {present: true}, actual: {present: false}},
  },
  {
    title: 'another column',
    columns: [{name: 'name'}, {name: 'number'}, {name: 'city'}],
    more: {otherColumns: 'refuse'},
    kept: 'name,number,city\nA,l1,B\n',
    broken: 'name,number,city,fax\nA,l2,B,1\n',
    breach: {expectation: 'other_columns', column: null, expected: {columns: 3}, actual: {columns: 1, names: ['fax']}},
  },
  {
    title: 'cells of another type',
    columns: [{name: 'number', type: 'integer'}],
    kept: 'name,number,city\nA,101,B\nA2,,B\n',
    broken: 'name,number,city\nA,102,B\nC,abc,B\nD,1.5,B\n',
    breach: {expectation: 'type', expected: {type: 'integer'}, actual: {cells: 2, firstRow: 2, kinds: {text: 1, decimal: 1}}},
  },
  {
    title: 'a repeated value',
    columns: [{name: 'number', unique: true}],
    kept: 'name,number,city\nA,m1,B\nC,m2,B\nD,,B\nE,,B\n',
    broken: 'name,number,city\nA,m3,B\nC,m4,B\nD, m3 ,B\n',
    breach: {expectation: 'unique', expected: {repeated: 0}, actual: {cells: 1, firstRow: 3}},
  },
  {
    title: 'a value that is not allowed',
    columns: [{name: 'city', values: ['Rome', 'Oslo']}],
    kept: 'name,number,city\nA,n1,Rome\nC,n2,\n',
    broken: 'name,number,city\nA,n3,Oslo\nC,n4,Canaryville\n',
    breach: {expectation: 'values', expected: {values: 2}, actual: {cells: 1, firstRow: 2}},
  },
  {
    title: 'too many empty cells',
    columns: [{name: 'city', emptyShare: 0.5}],
    kept: 'name,number,city\nA,o1,B\nC,o2,\n',
    broken: 'name,number,city\nA,o3,B\nC,o4,\nD,o5,\n',
    breach: {expectation: 'empty', expected: {share: 0.5}, actual: {share: 0.6667, cells: 2}},
  },
  {
    title: 'too few rows',
    columns: [],
    more: {rows: {least: 2}},
    kept: accountRows(2, 'p'),
    broken: accountRows(1, 'q'),
    breach: {expectation: 'rows', column: null, expected: {least: 2, most: null, median: null}, actual: {rows: 1}},
  },
]

for (const {title, columns, more = {}, kept, broken, breach} of kinds)
  test.serial(`${title} holds a file before its first row, and a file that meets the expectation is run`, async t => {
    const {path} = await make(source(columns, more), {onDrift: 'warn'})
    host.serve(broken)
    const held = await fire(org, path)
    t.like(held, {outcome: 'drifted', runId: null, counts: null, reason: {code: 'CONTRACT_BROKEN'}})
    t.like(held.contract, {version: 1, total: 1, decision: null, decidedAt: null})
    t.like(held.contract.breaches[0], {slot: 'companies', label: 'Companies', ...breach})
    t.true(held.reason.message.includes(held.contract.breaches[0].message))
    t.like(await noticesOf(house, idOf(path)), [
      {kind: 'schedule.drifted', about: {code: 'CONTRACT_BROKEN', firing: held.id, import: held.importId}},
    ])
    host.serve(kept)
    t.like(await fire(org, path), {outcome: 'done', contract: null})
  })

test.serial('neither a firing nor a notice nor a stored shape holds a cell of the file', async t => {
  const {path, template} = await make(
    source([
      {name: 'name', unique: true},
      {name: 'city', values: ['Rome'], type: 'integer'},
    ]),
  )
  host.serve('name,number,city\nCanaryname,r1,Canarytown\nCanaryname,r2,Rome\n')
  const held = await fire(org, path)
  t.is(held.contract.total, 3)
  await ok(decide(path, held, 'accept'), 200)
  const texts = `select coalesce(contract::text, '') || coalesce(reason::text, '') as text from firings where id = $1
    union all select about::text from notices where schedule_id = $2 union all select columns::text from accepted_files where template_id = $3`
  const {rows} = await house.hot.query(texts, [held.id, idOf(path), idOf(template)])
  t.true(rows.length >= 3)
  t.false(JSON.stringify(rows).includes('Canary'))
  t.like(await untilOver(org, path, held.id), {outcome: 'done', counts: {rowsWritten: 2}})
})

test.serial('an accepted file is run once, and the adapted contract then admits a file like it', async t => {
  const columns = [
    {name: 'number', type: 'integer', unique: true},
    {name: 'city', emptyShare: 0},
  ]
  const {path, template} = await make(source(columns, {rows: {most: 2}}))
  host.serve('name,number,city\nA,s1,B\nC,s1,\nD,s2,E\n')
  const held = await fire(org, path)
  t.like(held.contract, {total: 4, breaches: ['type', 'unique', 'empty', 'rows'].map(expectation => ({expectation}))})
  const accepted = await ok(decide(path, held, 'accept', {adapt: true}), 200)
  t.deepEqual(accepted.left, [])
  const ended = await untilOver(org, path, held.id)
  t.like(ended, {outcome: 'done', runId: accepted.runId, reason: null, contract: {decision: 'accepted'}})
  t.like(await readContract(template), {
    version: 2,
    sources: [{columns: [{type: null, unique: false}, {emptyShare: 0.34}], rows: {most: 3}}],
  })
  t.like((await decide(path, held, 'accept')).body, {code: 'FILE_NOT_HELD'})
  t.like((await decide(path, held, 'discard')).body, {code: 'FILE_NOT_HELD'})
  t.like(await fire(org, path), {outcome: 'unchanged', reason: {code: 'UNCHANGED'}})
  host.serve('name,number,city\nA,t1,B\nC,t1,\nD,t2,E\n')
  t.like(await fire(org, path), {outcome: 'done'})
  const {changes} = await ok(org.call('GET', `/orgs/${org.org}/config/changes?page=templates`), 200)
  const subjects = changes.map(({subject}: any) => subject)
  t.true(subjects.includes('template.contract') && subjects.includes('schedule.file'))
})

test.serial('a file with a value that is not allowed can be accepted, but the allowed values stay as stated', async t => {
  const {path, template} = await make(source([{name: 'city', values: ['Rome']}]))
  host.serve('name,number,city\nA,u1,Oslo\n')
  const held = await fire(org, path)
  await authorise(held.importId)
  const {left} = await ok(decide(path, held, 'accept', {adapt: true}), 200)
  t.like(left, [{expectation: 'values', column: 'city'}])
  t.like(await readContract(template), {version: 1, sources: [{columns: [{values: ['Rome']}]}]})
  t.like(await untilOver(org, path, held.id), {outcome: 'done'})
})

test.serial('a contract is adapted to all that a held file breaks, not only to its missing column', async t => {
  const columns = [{name: 'fax'}, {name: 'number', type: 'integer'}, {name: 'city', values: ['Rome']}]
  const {path, template} = await make(source(columns))
  host.serve('name,number,city\nA,z1,Oslo\n')
  const held = await fire(org, path)
  t.like(held.contract, {total: 1, breaches: [{expectation: 'column', column: 'fax'}]})
  const {left} = await ok(decide(path, held, 'accept', {adapt: true}), 200)
  t.like(left, [{expectation: 'values', column: 'city'}])
  t.like(await untilOver(org, path, held.id), {outcome: 'done'})
  t.like(await readContract(template), {version: 2, sources: [{columns: [{present: false}, {type: null}, {values: ['Rome']}]}]})
  host.serve('name,number,city\nA,z2,Rome\n')
  t.like(await fire(org, path), {outcome: 'done'})
})

test.serial('a discarded file is deleted and not checked again until its contract changes, even after the history window', async t => {
  const {path, template} = await make(source([{name: 'city', values: ['Rome']}]))
  host.serve('name,number,city\nA,v1,Oslo\n')
  const held = await fire(org, path)
  t.is(await createdBy(held.importId), 200)
  await authorise(held.importId)
  await ok(decide(path, held, 'discard'), 200)
  t.is(await createdBy(held.importId), 404)
  t.like((await decide(path, held, 'accept')).body, {code: 'FILE_NOT_HELD'})
  t.like(await fire(org, path), {outcome: 'unchanged', importId: null, reason: {code: 'DISCARDED'}})
  await house.hot.query(`update firings set ended_at = ended_at - interval '31 days' where schedule_id = $1`, [idOf(path)])
  t.is(await deleteOldFirings(house.db, {org: org.org, days: 30, limit: 100}), 1)
  t.like(await fire(org, path), {outcome: 'unchanged', reason: {code: 'DISCARDED'}})
  await ok(org.call('PUT', `${template}/contract`, source([{name: 'city', values: ['Rome', 'Oslo']}])), 200)
  t.like(await fire(org, path), {outcome: 'done', counts: {rowsWritten: 1}})
})

/** The first column's contract holds a file before it is cleaned, the other's afterwards. */
for (const column of [{name: 'city'}, {name: 'number', type: 'integer'}])
  test.serial(`a file that lacks a column of its flows and breaks ${column.name} is accepted once the template fits it`, async t => {
    const {path, template} = await make(source([column]), {onDrift: 'warn'})
    host.serve('name,number,town\nA,w1,B\n')
    const held = await fire(org, path)
    t.like(held, {reason: {code: 'CONTRACT_BROKEN'}, contract: {total: 1, breaches: [{column: column.name}]}})
    t.true(held.drift.some(({kind}: any) => kind === 'column_missing'))
    t.like(await decide(path, held, 'accept'), {status: 400, body: {code: 'INVALID'}})
    t.like((await listFirings(org, path))[0], {id: held.id, state: 'ended', contract: {decision: null}})
    const stored = JSON.stringify((await ok(org.call('GET', template), 200)).template)
    const {name, description, connectorId, sources, flows} = JSON.parse(stored.replaceAll('"city"', '"town"'))
    await ok(org.call('PUT', template, {name, description, connectorId, sources, flows}), 200)
    const {runId} = await ok(decide(path, held, 'accept'), 200)
    t.like(await untilOver(org, path, held.id), {outcome: 'done', runId, counts: {rowsWritten: 1}})
    t.like(await fire(org, path), {outcome: 'unchanged', importId: null})
  })

const learn = async (template: string) => ok(org.call('GET', `${template}/contract/proposal`), 200)

test.serial('a contract learnt from ten accepted files admits them, and compares the number of rows with them', async t => {
  const {path, template} = await make({sources: []})
  t.deepEqual(await learn(template), {contract: {sources: []}, files: [{slot: 'companies', accepted: 0}]})
  for (let n = 0; n < 11; n++) {
    host.serve(accountRows(10 + n, `7${n}00`))
    t.like(await fire(org, path), {outcome: 'done'})
  }
  const {contract, files} = await learn(template)
  t.deepEqual(files, [{slot: 'companies', accepted: 10}])
  const expected = {present: true, values: null, picklist: null}
  t.deepEqual(contract.sources, [
    {
      slot: 'companies',
      otherColumns: 'allow',
      rows: {least: null, most: null, change: 0.6},
      columns: [
        {name: 'name', ...expected, type: null, unique: true, emptyShare: 0},
        {name: 'number', ...expected, type: 'integer', unique: true, emptyShare: 0},
        {name: 'city', ...expected, type: null, unique: false, emptyShare: 0},
      ],
    },
  ])
  t.like(await ok(org.call('PUT', `${template}/contract`, contract), 200), {contract: {version: 1}})
  host.serve(accountRows(15, '800'))
  t.like(await fire(org, path), {outcome: 'done'})
  host.serve(accountRows(40, '900'))
  const held = await fire(org, path)
  t.like(held.contract.breaches, [{expectation: 'rows', expected: {median: 15.5, least: 7, most: 24}, actual: {rows: 40}}])
  await ok(decide(path, held, 'accept', {adapt: true}), 200)
  t.like(await untilOver(org, path, held.id), {outcome: 'done'})
  t.like(await readContract(template), {sources: [{rows: {change: 1.59}}]})
})

test.serial('an import that a person starts is only told about the contract', async t => {
  const {template} = await make(source([{name: 'city', values: ['Rome']}]))
  const {import: made} = await ok(
    org.call('POST', `/orgs/${org.org}/imports`, {connectorId: org.connector, templateId: idOf(template)}),
    201,
  )
  const path = `/orgs/${org.org}/imports/${made.id}`
  const body = 'name,number,city\nA,x1,Oslo\n'
  await ok(org.call('POST', `${path}/sources?name=a.csv`, body, {'content-type': 'text/csv'}), 201)
  const {version, breaches} = await ok(org.call('GET', `${path}/contract`), 200)
  t.is(version, 1)
  t.like(breaches, [{expectation: 'values', column: 'city', actual: {cells: 1, firstRow: 1}}])
  await ok(org.call('POST', `${path}/runs`, {}), 202)
})

test.serial('a contract has versions, and refuses slots that the template does not have', async t => {
  const {template} = await make(source([{name: 'city'}]))
  t.like(await readContract(template), {version: 1, sources: [{columns: [{name: 'city', present: true, type: null}]}]})
  t.like(await ok(org.call('PUT', `${template}/contract`, source([{name: 'city'}])), 200), {contract: {version: 1}})
  const late = await org.call('PUT', `${template}/contract`, source([]), {'if-match': '"7"'})
  t.like(late, {status: 409, body: {code: 'CONTRACT_CONFLICT', version: 1}})
  const foreign = await org.call('PUT', `${template}/contract`, {sources: [{slot: 'other'}]})
  t.like(foreign, {status: 400, body: {code: 'INVALID'}})
  const twice = await org.call('PUT', `${template}/contract`, source([{name: 'city'}, {name: 'city'}]))
  t.like(twice, {status: 400, body: {code: 'INVALID'}})
})

const assertUnreachable = async (t: ExecutionContext, other: Org, path: string) => {
  const calls = [
    other.call('GET', path.replace(org.org, other.org)),
    other.call('PUT', path.replace(org.org, other.org), {sources: []}),
    other.call('GET', `${path.replace(org.org, other.org)}/proposal`),
  ]
  for (const {status, body} of await Promise.all(calls)) t.deepEqual([status, body.code], [404, 'NOT_FOUND'])
}

test.serial('another org can neither read a contract nor decide about a held file', async t => {
  const {path, template} = await make(source([{name: 'city', values: ['Rome']}]))
  host.serve('name,number,city\nA,y1,Oslo\n')
  const held = await fire(org, path)
  const other = await openOrg(house, 'zoe@other.example')
  await assertUnreachable(t, other, `${template}/contract`)
  for (const decision of ['accept', 'discard']) {
    const {status, body} = await other.call('POST', `${path.replace(org.org, other.org)}/firings/${held.id}/${decision}`, {})
    t.deepEqual([status, body.code], [404, 'NOT_FOUND'])
  }
  const operator = await house.makeOrg({role: 'operator', org: org.org})
  t.is((await house.as(operator.token)('POST', `${path}/firings/${held.id}/accept`, {})).status, 403)
  t.like((await listFirings(org, path))[0], {id: held.id, contract: {decision: null}})
})
