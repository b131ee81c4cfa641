import type {ServerResponse} from 'node:http'
import test from 'ava'
import {databaseUrlOf, readConfig} from '../../shared/config.ts'
import {deleteOldTestFetches} from '../../sql/test-fetches.ts'
import {accountRows, type Org, ok, openOrg} from '../support/importing.ts'
import {type FileHost, listFirings, makeSchedule, makeTemplate, seldom, startFileHost, untilOver} from '../support/schedules.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

let house: TestDeployment
let host: FileHost
let org: Org

test.before(async t => {
  host = await startFileHost()
  const environment = {PRIVATE_HOSTS: `${host.place},${new URL(databaseUrlOf(readConfig())).host}`, SOURCE_HOSTS: '127.0.0.1,*.example'}
  house = await startTestDeployment(t, {workers: ['discovery', 'schedules'], environment})
  org = await openOrg(house)
})
test.after.always(() => host.stop())

const runTest = async (path: string) => {
  await ok(org.call('POST', `${path}/test`, undefined, {prefer: 'wait=30'}), 200)
  return (await ok(org.call('GET', `${path}/test`), 200)).test
}
const countOf = async (text: string) => Number((await house.hot.query(text)).rows[0].count)

test.serial('a test fetch shows the file and its first rows, and makes neither an import nor a firing nor a stored file', async t => {
  const {path, schedule} = await makeSchedule(org, host, {enabled: false})
  t.is((await ok(org.call('GET', `${path}/test`), 200)).test, null)
  const imports = await countOf('select count(*) from imports')
  host.serve(accountRows(12, 'seen-'))
  const {file, problem} = await runTest(path)
  t.is(problem, null)
  t.like(file, {name: 'orders.csv', rows: 12, columnCount: 3, columns: ['name', 'number', 'city'], drift: []})
  t.is(file.bytes, Buffer.byteLength(accountRows(12, 'seen-')))
  t.is(file.sample.length, 5)
  t.is(file.sample[0][1], 'seen-1')
  t.is(host.requests.at(-1)!.authorization, 'Bearer let-me-in')
  t.is(await countOf('select count(*) from imports'), imports)
  t.deepEqual(await listFirings(org, path), [])
  for await (const {key} of house.storage.list()) t.false(key.includes('test-fetches'), key)

  host.serve('name,number,fax\nA,1,2\n')
  const other = await runTest(path)
  t.deepEqual(
    other.file.drift.map(({stops}: {stops: boolean}) => stops),
    [true, false],
    'the missing city stops the schedule, the new fax does not',
  )
  await house.hot.query(`update test_fetches set fetched_at = fetched_at - interval '25 hours' where schedule_id = $1`, [schedule.id])
  t.is(await deleteOldTestFetches(house.db, {limit: 10}), 1)
  t.is((await ok(org.call('GET', `${path}/test`), 200)).test, null)
})

test.serial('a test fetch shows cells that Postgres cannot store as they are: a cut emoji and half a character', async t => {
  const {path} = await makeSchedule(org, host, {enabled: false})
  const start = 'x'.repeat(199)
  host.serve(JSON.stringify([{name: `${start}\u{1f600}`, number: 'a', city: '\ud83d', more: '\u{1f600}'}]))
  const {file, problem} = await runTest(path)
  t.is(problem, null)
  t.deepEqual(file.sample, [[`${start}\ufffd`, 'a', '\ufffd', '\u{1f600}']])
})

test.serial('a test fetch that fails says why', async t => {
  const {path} = await makeSchedule(org, host, {enabled: false})
  host.fail(404)
  t.like(await runTest(path), {file: null, problem: {code: 'NOT_FOUND'}})
  host.serve('<!doctype html><html><body>Sign in</body></html>')
  t.like(await runTest(path), {file: null, problem: {code: 'NOT_A_TABLE'}})
  host.serve('')
  t.like(await runTest(path), {file: null, problem: {code: 'FILE_EMPTY'}})
})

test.serial('a test fetch of a query shows its rows, or why the database refused it', async t => {
  const {template} = await makeSchedule(org, host, {enabled: false})
  const {hostname, port, username: user, password, pathname} = new URL(databaseUrlOf(house.config))
  const source = {kind: 'postgres', host: hostname, port: Number(port), user, password, database: pathname.slice(1), tls: false}
  const query = `select 'Ada' as name, 7::bigint as number, null as city`
  const saved = await ok(
    org.call('POST', `${template}/schedules`, {name: 'Query', ...seldom, source: {...source, query}, enabled: false}),
    201,
  )
  const {password: _, ...shown} = source
  t.deepEqual(saved.schedule.source, {...shown, query, credentials: ['password']})
  const path = `${template}/schedules/${saved.schedule.id}`
  t.like(await runTest(path), {file: {rows: 1, columns: ['name', 'number', 'city'], sample: [['Ada', '7', '']], drift: []}, problem: null})
  const changed = {name: 'Query', ...seldom, source: {...shown, query: 'select name from nowhere'}, enabled: false}
  t.is((await ok(org.call('PUT', path, changed), 200)).schedule.source.query, 'select name from nowhere')
  const message = 'The database refused the query: relation "nowhere" does not exist'
  t.deepEqual(await runTest(path).then(({file, problem}) => ({file, problem})), {file: null, problem: {code: 'QUERY_FAILED', message}})
  t.is((await org.call('PUT', path, {...changed, source: {...changed.source, user: 'another'}})).status, 400)
})

test.serial('a test fetch of another org cannot be read', async t => {
  const {path} = await makeSchedule(org, host, {enabled: false})
  const other = await house.makeOrg()
  const call = house.as(other.token)
  const foreign = path.replace(org.org, other.org)
  for (const method of ['GET', 'POST'] as const) t.is((await call(method, `${foreign}/test`)).status, 404)
})

test.serial(
  'a schedule that could never fetch its file, would get one of several, or would delete records is refused when it is saved',
  async t => {
    const of = await makeTemplate(org)
    const body = {name: 'Nightly', ...seldom, source: host.source}
    const post = (source: object) => org.call('POST', `${of}/schedules`, {...body, source})
    const plain = await post({kind: 'https', url: 'http://files.example/{date:yyyy-MM-dd}.csv'})
    t.like(plain, {status: 422, body: {code: 'SOURCE_REFUSED', issues: [{path: ['source', 'url']}]}})
    const hostKey = `SHA256:${'A'.repeat(43)}`
    const sftp = await post({kind: 'sftp', host: 'elsewhere.invalid', user: 'u', password: 'p', path: '/a.csv', hostKey})
    t.like(sftp, {status: 422, body: {code: 'SOURCE_REFUSED', issues: [{path: ['source', 'host']}]}})
    const database = {kind: 'postgres', host: 'db.example', database: 'd', user: 'u', password: 'p', query: 'select 1', tls: false}
    t.like(await post(database), {status: 422, body: {code: 'SOURCE_REFUSED', issues: [{path: ['source', 'tls']}]}})
    await ok(post({...database, tls: true}), 201)
    await ok(post({kind: 'https', url: 'https://files.example/a.csv'}), 201)

    const [slot, second] = ['companies', 'people'].map(name => ({slot: name, label: name, columns: ['name', 'number', 'city', name]}))
    const two = await makeTemplate(org, {name: 'Two files', sources: [slot, second]})
    t.like(await org.call('POST', `${two}/schedules`, body), {status: 409, body: {code: 'TEMPLATE_NEEDS_FILES'}})
    const sheets = [slot, second].map((one, at) => ({...one, reader: {format: 'xlsx', sheet: `Sheet${at + 1}`}}))
    const workbook = await makeTemplate(org, {name: 'Two sheets', sources: sheets})
    const {schedule} = await ok(org.call('POST', `${workbook}/schedules`, body), 201)
    const query = {...body, source: {...database, tls: true}}
    for (const saved of [
      await org.call('POST', `${workbook}/schedules`, query),
      await org.call('PUT', `${workbook}/schedules/${schedule.id}`, query),
    ]) {
      t.like(saved, {status: 409, body: {code: 'TEMPLATE_NEEDS_FILES'}})
      t.regex(saved.body.error, /takes 2 tables \(companies, people\)/)
    }

    const flow = {
      id: 'f',
      sourceId: 'companies',
      module: 'Accounts',
      action: 'delete',
      match: {by: ['Account_Number'], onOne: 'update', onMany: 'skip'},
    }
    const fields = [{field: 'Account_Number', mode: 'column', source: 'number'}]
    const deleting = await makeTemplate(org, {name: 'Deletes', sources: [slot], flows: [{...flow, fields}]})
    t.like(await org.call('POST', `${deleting}/schedules`, body), {status: 409, body: {code: 'DELETES_UNCONFIRMED'}})
  },
)

test.serial('a test fetch after a change of the source reads the new source, and a test of the old one stores nothing', async t => {
  const {path, body} = await makeSchedule(org, host, {enabled: false})
  const held = Promise.withResolvers<ServerResponse>()
  host.answer(response => void (response.req.url === '/orders.csv' ? held.resolve(response) : response.end(accountRows(2, 'new-'))))
  const {job} = await ok(org.call('POST', `${path}/test`), 202)
  const old = await held.promise
  await ok(org.call('PUT', path, {...body, source: {...host.source, url: `http://${host.place}/new.csv`}}), 200)
  t.like(await runTest(path), {file: {name: 'new.csv', rows: 2}})
  old.end(accountRows(1, 'old-'))
  const ended = await until(
    () => ok(org.call('GET', `/orgs/${org.org}/jobs/${job.id}`), 200),
    ({state}) => state !== 'running',
  )
  t.like(ended, {state: 'refused', error: {code: 'SCHEDULE_CONFLICT'}})
  t.like((await ok(org.call('GET', `${path}/test`), 200)).test, {file: {name: 'new.csv', rows: 2}})
})

test.serial('firings and test fetches of one org whose source is slow do not stop those of another org', async t => {
  const held: ServerResponse[] = []
  host.answer(response => void (response.req.url === '/slow.csv' ? held.push(response) : response.end(accountRows(1, 'quick-'))))
  const source = {...host.source, url: `http://${host.place}/slow.csv`}
  const slow = []
  for (let n = 0; n < 4; n++) slow.push(await makeSchedule(org, host, {source}))
  const other = await openOrg(house, 'zoe@other.example')
  const {path} = await makeSchedule(other, host)

  for (const one of slow) await ok(org.call('POST', `${one.path}/test`), 202)
  await ok(other.call('POST', `${path}/test`, undefined, {prefer: 'wait=30'}), 200)
  for (const one of slow) await ok(org.call('POST', `${one.path}/run`, {}), 202)
  const {firing} = await ok(other.call('POST', `${path}/run`, {}), 202)
  t.truthy((await untilOver(other, path, firing.id, ({runId}) => runId !== null)).runId)

  host.serve(accountRows(1, 'slow-'))
  for (const response of held) response.end(accountRows(1, 'slow-'))
  for (const one of slow) {
    await until(
      async () => (await ok(org.call('GET', `${one.path}/test`), 200)).test,
      found => found?.problem === null,
    )
  }
})

test.serial('a schedule cannot be turned on while its connection has ended', async t => {
  const {path, template, body} = await makeSchedule(org, host, {enabled: false})
  await house.hot.query(`update connectors set state = 'ended' where id = $1`, [org.connector])
  const refused = {status: 409, body: {code: 'CONNECTION_ENDED'}}
  t.like(await org.call('PATCH', path, {enabled: true}), refused)
  t.like(await org.call('PUT', path, {...body, enabled: true}), refused)
  t.like(await org.call('POST', `${template}/schedules`, {...body, enabled: true}), refused)
  await ok(org.call('PUT', path, {...body, enabled: false}), 200)
  await house.hot.query(`update connectors set state = 'connected' where id = $1`, [org.connector])
  await ok(org.call('PATCH', path, {enabled: true}), 200)
})
