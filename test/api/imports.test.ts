import test from 'ava'
import {removeDeleted} from '../../workers/retention.ts'
import {accountRows, accounts, type Org, ok, openOrg, prepareImport, runImport, untilEnded} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let house: TestDeployment
let org: Org

test.before(async t => {
  house = await startTestDeployment(t, {workers: ['imports', 'discovery']})
  org = await openOrg(house)
})

const outcome = ({status, body}: {status: number; body: any}) => [status, body.code ?? null]
const list = async () => (await ok(org.call('GET', `/orgs/${org.org}/imports?limit=200`), 200)).imports.map(({id}: any) => id)
const tools = () => ({...house.tools, drain: new AbortController().signal})

test.serial('renaming an import requires the version that was read', async t => {
  const {path} = await prepareImport(org, {csv: accountRows(2), flow: accounts})
  const read = await org.call('GET', path)
  const etag = read.headers.get('etag')!
  t.is(etag, `"${read.body.import.version}"`)
  const renamed = await org.call('PATCH', path, {name: 'March'}, {'if-match': etag})
  t.like(renamed.body.import, {name: 'March', version: read.body.import.version + 1})
  t.is(renamed.headers.get('etag'), `"${renamed.body.import.version}"`)
  const late = await org.call('PATCH', path, {name: 'April'}, {'if-match': etag})
  t.deepEqual([...outcome(late), late.body.version], [409, 'IMPORT_CONFLICT', renamed.body.import.version])
  const same = await org.call('PATCH', path, {name: 'March'}, {'if-match': `"${renamed.body.import.version}"`})
  t.is(same.body.import.version, renamed.body.import.version)
  t.like((await org.call('PATCH', path, {name: 'May'})).body.import, {name: 'May', state: 'ready'})
  for (const body of [{}, {name: ''}, {name: 'x', state: 'done'}])
    t.deepEqual(outcome(await org.call('PATCH', path, body)), [400, 'INVALID'])
  t.deepEqual(outcome(await org.call('PATCH', path, {name: 'x'}, {'if-match': 'W/"1"'})), [400, 'BAD_IF_MATCH'])
})

test.serial('the list finds imports by a part of the name, and hides archived imports', async t => {
  const names = ['Fair of Lisbon', 'fair of 100% wool', 'Spring']
  const made = []
  for (const name of names)
    made.push((await ok(org.call('POST', `/orgs/${org.org}/imports`, {name, connectorId: org.connector}), 201)).import)
  const found = async (query: string) => {
    const {imports} = await ok(org.call('GET', `/orgs/${org.org}/imports?limit=200&${query}`), 200)
    return (imports as any[]).map(({name}) => name).filter(name => names.includes(name))
  }
  t.deepEqual(await found('name=FAIR'), ['fair of 100% wool', 'Fair of Lisbon'])
  t.deepEqual(await found('name=0%25'), ['fair of 100% wool'], 'a wildcard of the database is an ordinary character')
  const path = `/orgs/${org.org}/imports/${made[0].id}`
  const archived = (await ok(org.call('PATCH', path, {archived: true}, {'if-match': `"${made[0].version}"`}), 200)).import
  t.is(archived.version, made[0].version, 'a mapping that is being edited stays valid')
  t.truthy(archived.archivedAt)
  t.is((await ok(org.call('PATCH', path, {archived: true}), 200)).import.archivedAt, archived.archivedAt)
  t.deepEqual(await found('name=fair'), ['fair of 100% wool'])
  t.deepEqual(await found('name=fair&archived=true'), ['Fair of Lisbon'])
  t.deepEqual(await found('archived=all'), ['Spring', 'fair of 100% wool', 'Fair of Lisbon'])
  const both = await ok(org.call('PATCH', path, {name: 'Fair of Porto', archived: false}), 200)
  t.like(both.import, {name: 'Fair of Porto', archivedAt: null, version: made[0].version + 1})
  const {changes} = await ok(org.call('GET', `/orgs/${org.org}/config/changes?page=imports&limit=10`), 200)
  const mine = (changes as any[]).filter(({subject}) => subject === 'import.archived')
  t.deepEqual(
    mine.map(({before, after}) => [before, after]),
    [
      [true, false],
      [false, true],
    ],
  )
  t.deepEqual(outcome(await org.call('GET', `/orgs/${org.org}/imports?archived=perhaps`)), [400, 'INVALID'])
  const foreign = await openOrg(house, 'zoe@other.example')
  t.deepEqual(outcome(await foreign.call('PATCH', path.replace(org.org, foreign.org), {archived: true})), [404, 'IMPORT_NOT_FOUND'])
})

test.serial('the list has the last run of each import, if asked, and no dry run', async t => {
  const {path, run} = await runImport(org, {csv: accountRows(2), flow: accounts})
  const {run: dry} = await ok(org.call('POST', `${path}/runs`, {dryRun: true}), 202)
  await untilEnded(org.call, `${path}/runs/${dry.id}`)
  await prepareImport(org, {csv: accountRows(2), flow: accounts})
  const read = async (query: string) => (await ok(org.call('GET', `/orgs/${org.org}/imports?limit=2${query}`), 200)).imports as any[]
  t.deepEqual(
    (await read('&lastRun=true')).map(({lastRun}) => lastRun?.id ?? null),
    [null, run.id],
  )
  t.deepEqual((await read('&lastRun=true'))[1].lastRun, (await ok(org.call('GET', `${path}/runs/${run.id}`), 200)).run)
  t.true((await read('')).every(one => !('lastRun' in one)))
})

test.serial('setting flows with an outdated version is refused; without a version it is accepted', async t => {
  const {path, source} = await prepareImport(org, {csv: accountRows(2), flow: accounts})
  const read = await org.call('GET', path)
  const [etag, {version, flows}] = [read.headers.get('etag')!, read.body.import]
  const other = [{...flows[0], id: 'other', sourceId: source.id}]
  const set = (body: object, headers = {}) => org.call('PUT', `${path}/flows`, body, headers)
  const saved = await set(other, {'if-match': etag})
  t.deepEqual([saved.status, saved.headers.get('etag')], [200, `"${version + 1}"`])
  const late = await set(flows, {'if-match': etag})
  t.deepEqual([...outcome(late), late.body.version], [409, 'IMPORT_CONFLICT', version + 1])
  t.deepEqual(
    outcome(await set([{...flows[0], module: 'Nothing'}], {'if-match': etag})),
    [409, 'IMPORT_CONFLICT'],
    'before what is wrong with them',
  )
  t.deepEqual(outcome(await set(flows, {'if-match': 'W/"1"'})), [400, 'BAD_IF_MATCH'])
  t.deepEqual((await ok(org.call('GET', path), 200)).import.flows, saved.body.flows)
  t.deepEqual([(await set(flows)).status, (await set(other, {'if-match': '*'})).status], [200, 200])
  const [one, two] = await Promise.all([set(flows, {'if-match': `"${version + 3}"`}), set(other, {'if-match': `"${version + 3}"`})])
  t.deepEqual([one.status, two.status].sort(), [200, 409], 'of two at once')
})

test.serial('an import is deleted by its author or an admin, at once, and all its data within a minute', async t => {
  const {path, run, source} = await runImport(org, {csv: accountRows(20, 'deleted-'), flow: accounts})
  const id = path.split('/').at(-1)
  const member = await house.makeOrg({role: 'operator', org: org.org})
  const other = house.as(member.token)
  t.deepEqual(outcome(await other('DELETE', path)), [403, 'ROLE_REQUIRED'])
  const {import: theirs} = await ok(other('POST', `/orgs/${org.org}/imports`, {connectorId: org.connector}), 201)
  t.deepEqual((await ok(other('DELETE', `/orgs/${org.org}/imports/${theirs.id}`), 200)).removed, theirs.id)
  t.true((await list()).includes(id))
  const {runId} = await ok(org.call('POST', '/entitlements/runs/authorise', {declaredRows: 1, importId: id}), 200)
  t.deepEqual(await ok(org.call('DELETE', path), 200), {removed: id})
  t.false((await list()).includes(id))
  const unknown = [404, 'IMPORT_NOT_FOUND']
  for (const [method, more, body] of [
    ['GET', ''],
    ['DELETE', ''],
    ['PATCH', '', {name: 'x'}],
    ['GET', '/runs'],
    ['GET', `/runs/${run.id}`],
    ['GET', `/runs/${run.id}/records`],
    ['GET', `/sources/${source.id}`],
    ['GET', `/results.csv?run=${run.id}`],
    ['GET', '/checks'],
    ['POST', '/runs', {runId}],
    ['POST', `/runs/${run.id}/questions`, {rules: [{flowId: 'f', choice: 'skip'}]}],
  ] as const)
    t.deepEqual(outcome(await org.call(method, `${path}${more}`, body)), unknown, `${method} ${more}`)
  t.deepEqual(outcome(await org.call('GET', `/orgs/${org.org}/runs/${run.id}/records`)), [410, 'FILE_GONE'])
  const late = await org.call('POST', `/entitlements/runs/${runId}/progress`, {rowsWritten: 1})
  t.deepEqual(outcome(late), [410, 'FILE_GONE'])
  await removeDeleted(tools())
  const {rows} = await house.hot.query('select id from runs where id = any($1) union all select id from imports where id = any($2)', [
    [run.id, runId],
    [id, theirs.id],
  ])
  t.deepEqual(rows, [])
  for await (const {key} of house.storage.list()) t.false(key.includes(id!), key)
  t.deepEqual(outcome(await org.call('GET', `/orgs/${org.org}/runs/${run.id}`)), [404, 'RUN_NOT_FOUND'])
})

test.serial('an import with a running run or dry run cannot be deleted', async t => {
  house.crm.faults.add({match: {path: '/crm/v8/Accounts'}, times: 50, action: {type: 'slow', ms: 500, when: 'before'}})
  for (const start of [{}, {dryRun: true}]) {
    const {path} = await prepareImport(org, {csv: accountRows(300, 'held-'), flow: accounts})
    const {run} = await ok(org.call('POST', `${path}/runs`, start), 202)
    t.deepEqual(outcome(await org.call('DELETE', path)), [409, 'IMPORT_RUNNING'])
    t.deepEqual(outcome(await org.call('PATCH', path, {name: 'While it runs'})), [200, null])
    await ok(org.call('POST', `${path}/runs/${run.id}/cancel`), 200)
    house.crm.faults.clear()
    await untilEnded(org.call, `${path}/runs/${run.id}`)
    await ok(org.call('DELETE', path), 200)
  }
  await removeDeleted(tools())
  t.is((await house.hot.query('select from imports where deleted')).rowCount, 0)
})
