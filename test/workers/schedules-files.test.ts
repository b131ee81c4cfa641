import anyTest, {type TestFn} from 'ava'
import {Webhook} from 'standardwebhooks'
import {databaseUrlOf, readConfig} from '../../shared/config.ts'
import {type Receiver, startReceiver} from '../simulators/receiver.ts'
import {startS3} from '../simulators/s3.ts'
import {startSftp} from '../simulators/sftp.ts'
import {type Smtp, startSmtp} from '../simulators/smtp.ts'
import {makePlan, place} from '../support/entitlements.ts'
import {accountRows, accounts, type Org, ok, openOrg} from '../support/importing.ts'
import {
  type FileHost,
  fire,
  makeSchedule,
  makeTemplate,
  noticesOf,
  seldom,
  startFileHost,
  template as templateOf,
  untilOver,
} from '../support/schedules.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

const test = anyTest.serial as TestFn
const store = {bucket: 'files', accessKeyId: 'AKIALADING', secretAccessKey: 'a-secret-of-the-store', region: 'eu-central-1'}
const reader = {user: 'reader', password: 'a-secret-over-ssh'}

let house: TestDeployment
let host: FileHost
let receiver: Receiver
let smtp: Smtp
let s3: Awaited<ReturnType<typeof startS3>>
let sftp: Awaited<ReturnType<typeof startSftp>>
let org: Org

test.before(async t => {
  ;[host, receiver, smtp, s3, sftp] = await Promise.all([startFileHost(), startReceiver(), startSmtp(), startS3(store), startSftp(reader)])
  const privateHosts = [
    host.place,
    receiver.place,
    new URL(s3.url).host,
    `127.0.0.1:${sftp.port}`,
    new URL(databaseUrlOf(readConfig())).host,
  ].join(',')
  const workers = ['imports', 'discovery', 'schedules', 'clock', 'notices']
  const mail = {SMTP_URL: smtp.url, MAIL_FROM: 'Lading <notices@lading.example>'}
  house = await startTestDeployment(t, {workers, environment: {PRIVATE_HOSTS: privateHosts, ...mail}})
  await house.hot.query(`update plan_versions set limits = limits || '{"schedules": 100}'`)
  org = await openOrg(house)
})
test.after.always(() => Promise.all([host.stop(), receiver.stop(), smtp.stop(), s3.stop(), sftp.stop()]))

const add = async (template: string, more: object) => {
  const {schedule} = await ok(org.call('POST', `${template}/schedules`, {name: 'Nightly', ...seldom, source: host.source, ...more}), 201)
  return `${template}/schedules/${schedule.id}`
}
/** Returns the database of the test as a source, without encryption of the connection. */
const database = () => {
  const {hostname: host, port, username: user, password, pathname} = new URL(databaseUrlOf(house.config))
  return {kind: 'postgres', host, port: Number(port), user, password, database: pathname.slice(1), tls: false}
}
const countImports = async () => (await ok(org.call('GET', `/orgs/${org.org}/imports?limit=200`), 200)).imports.length

test('scheduled files are fetched from a bucket, over SFTP and from a database, and the credentials are stored nowhere readable', async t => {
  const template = await makeTemplate(org)
  s3.objects.set('in/orders.csv', Buffer.from(accountRows(2, 'bucket-')))
  sftp.files.set('/out/orders.csv', {content: Buffer.from(accountRows(2, 'ssh-')), mtime: 1})
  const sources = [
    {kind: 's3', endpoint: s3.url, ...store, key: 'in/orders.csv'},
    {kind: 'sftp', host: '127.0.0.1', port: sftp.port, ...reader, path: '/out/orders.csv', hostKey: sftp.fingerprint},
    {...database(), query: `select 'Query ' || n as name, 'query-' || n as number, null as city from generate_series(1, 2) n`},
  ]
  for (const source of sources) {
    const firing = await fire(org, await add(template, {source}))
    t.like(firing, {outcome: 'done', counts: {rowsWritten: 2, modules: {Accounts: {created: 2}}}}, source.kind)
  }
  const {rows} = await house.hot.query(`select coalesce(string_agg(all_rows, ' '), '') as text from (
    select to_jsonb(s)::text as all_rows from schedules s union all select to_jsonb(f)::text from firings f union all select to_jsonb(i)::text from imports i
    union all select to_jsonb(x)::text from sources x union all select to_jsonb(n)::text from notices n union all select to_jsonb(j)::text from pgboss.job j) a`)
  t.regex(rows[0].text, /in\/orders\.csv/)
  for (const secret of [store.secretAccessKey, reader.password, database().password]) t.false(rows[0].text.includes(secret))
})

test('the rows of a query keep their form and values, whatever the file of the template looked like', async t => {
  const slot = {slot: 'companies', label: 'Companies', columns: ['name', 'number', 'city']}
  const semicolons = {delimiter: ';', quote: null, headerRow: false, skipRows: 1, encoding: 'windows-1252'}
  const sheet = {format: 'xlsx', sheet: 'Sizes', headerRow: false}
  for (const [name, reader] of Object.entries({Größe: semicolons, Maß: sheet})) {
    const cleaned = {slot: 'cleaned', label: 'Cleaned', columns: slot.columns, reader, cleaning: [{step: 'strikeEmpty'}]}
    const template = await makeTemplate(org, {name: `For ${name}`, sources: [{...slot, reader}, cleaned]})
    const query = `select '${name}' as name, '''+49 30 ${name}' as number, null as city`
    const {importId, ...firing} = await fire(org, await add(template, {source: {...database(), query}}))
    t.like(firing, {outcome: 'done', counts: {rowsWritten: 1}}, name)
    const written = house.crm.records('example', 'Accounts').find(({Account_Name}) => Account_Name === name)
    t.like(written, {Account_Number: `'+49 30 ${name}`})
    const at = `/orgs/${org.org}/imports/${importId}`
    const [{id, reader: own}] = (await ok(org.call('GET', at), 200)).import.sources
    const {import: filled} = await ok(org.call('PUT', `${at}/slots`, {companies: id}), 200)
    t.like(filled.sources[0], {reader: own, sniffed: {convertedFrom: 'query'}}, 'also when a person fills the slot')
  }
})

test('a file whose run stopped at a limit is retried when it arrives again, instead of imported anew', async t => {
  const {module, fields} = accounts
  const template = await makeTemplate(org, {name: 'Without a match', flows: [{id: 'f', sourceId: 'companies', module, fields}]})
  const path = await add(template, {declaredRows: 3})
  host.serve(accountRows(5, 'limit-'))
  const first = await fire(org, path)
  t.like(first, {outcome: 'stopped', reason: {code: 'LIMIT_ROWS_PER_RUN'}, counts: {rowsWritten: 3}})
  const before = await countImports()
  const stopAs = (code: string) =>
    house.hot.query(
      `update run_heads set stop = jsonb_build_object('stopped', $1::text, 'message', '')
    where run_no = (select run_no from runs where id = $2)`,
      [code, first.runId],
    )
  await stopAs('CANCELLED')
  t.like(await fire(org, path), {outcome: 'unchanged'}, 'not by itself, where a person stopped it')
  await stopAs('LIMIT_ROWS_PER_RUN')
  const second = await fire(org, path)
  t.like(second, {outcome: 'done', importId: first.importId, counts: {rowsWritten: 2, modules: {Accounts: {created: 2, inherited: 3}}}})
  t.is(await countImports(), before)
  t.like(await fire(org, path), {outcome: 'unchanged'})
})

test('a missing column that only cleaning reads is drift, and so is a missing library', async t => {
  const source = {slot: 'companies', label: 'Companies', columns: ['name', 'number', 'city', 'fax']}
  const cleaning = [{step: 'trim', columns: ['fax']}]
  const path = await add(await makeTemplate(org, {name: 'Cleaned', sources: [{...source, cleaning}]}), {})
  host.serve(accountRows(1, 'clean-'))
  const firing = await fire(org, path)
  t.like(firing, {outcome: 'drifted', reason: {code: 'DRIFTED'}})
  t.like(firing.drift, [{kind: 'column_missing', column: 'fax', stops: true}])

  const strange = Array.from({length: 500}, (_, n) => `strange ${n}`).join(',')
  host.serve(`${strange}\n${strange}\n`)
  const {drift} = await fire(org, path)
  t.is(drift.length, 100)
  t.deepEqual(new Set(drift.slice(0, 4).map(({stops}: any) => stops)), new Set([true]))

  host.serve(accountRows(1, 'clean-'))
  const library = `/orgs/${org.org}/libraries/tidy`
  const manifest = {namespace: 'tidy', version: '1.0.0', scope: 'org', description: '', functions: [{name: 'up'}]}
  await ok(org.call('PUT', library, {manifest, source: 'export const up = text => text.toUpperCase()'}), 200)
  const {module, match, fields} = accounts
  const called = {field: 'Account_Name', mode: 'column', source: 'name', transform: 'tidy.up(value)'}
  const flows = [{id: 'f', sourceId: 'companies', module, match, fields: [called, ...fields.slice(1)]}]
  const calling = await add(await makeTemplate(org, {name: 'Calling', flows}), {})
  await ok(org.call('DELETE', library), 200)
  t.like((await fire(org, calling)).drift, [{kind: 'library_gone', field: 'Account_Name'}])
})

test('a file that was run through one connection is run again through another', async t => {
  const path = await add(await makeTemplate(org, {name: 'Anywhere', connectorId: null}), {connectorId: org.connector})
  host.serve(accountRows(1, 'elsewhere-'))
  t.like(await fire(org, path), {outcome: 'done'})
  t.like(await fire(org, path), {outcome: 'unchanged'})
  const session = await house.signIn()
  const other = await house.connect(session, {user: 'zoe@other.example'})
  t.not(other, org.connector)
  await ok(org.call('POST', `/orgs/${org.org}/discovery/run`, {connectorId: other}, {prefer: 'wait=30'}), 200)
  const {bearer: _, ...source} = host.source
  await ok(org.call('PUT', path, {name: 'Nightly', ...seldom, source, connectorId: other}), 200)
  t.like(await fire(org, path), {outcome: 'done', counts: {modules: {Accounts: {created: 1}}}})
})

test('if a template gets its connection after its schedule was created, the schedule does not run the same file again', async t => {
  const other = await house.connect(await house.signIn(), {user: 'zoe@other.example'})
  for (const connector of [org.connector, other]) {
    const template = await makeTemplate(org, {name: 'Late', connectorId: null})
    const path = await add(template, {connectorId: org.connector})
    await ok(org.call('PUT', template, templateOf(connector)), 200)
    host.serve(accountRows(1, `late-${connector}-`))
    t.like(await fire(org, path), {outcome: 'done'})
    t.like(await fire(org, path), {outcome: 'unchanged'})
    await ok(org.call('PUT', path, {name: 'Renamed', ...seldom, source: host.source}), 200)
    t.like(await fire(org, path), {outcome: 'unchanged'}, 'after a change of the schedule')
  }
})

test('the declared rows of a schedule are a maximum: only the rows that the file has are reserved and need approval', async t => {
  const few = await openOrg(house, 'zoe@other.example')
  await place(house, few.org, await makePlan(house, 'few', {rowsPerPeriod: 6, rowsPerRun: 100}))
  await ok(few.call('PATCH', `/orgs/${few.org}/config/settings`, {approvalAbove: 3}), 200)
  const {path} = await makeSchedule(few, host, {declaredRows: 100})
  host.serve(accountRows(2, 'few-'))
  t.like(await fire(few, path), {outcome: 'done', counts: {rowsWritten: 2}})
  const {path: capped} = await makeSchedule(few, host, {declaredRows: 3})
  host.serve(accountRows(5, 'cap-'))
  t.like(await fire(few, capped), {outcome: 'stopped', reason: {code: 'LIMIT_ROWS_PER_RUN'}, counts: {rowsWritten: 3}})
  t.like(await fire(few, capped), {outcome: 'stopped', counts: {rowsWritten: 1}}, 'the last row of the period')
})

test('a file without rows is skipped with a reason, and the schedule stays enabled', async t => {
  const {path} = await makeSchedule(org, host)
  host.serve('name,number,city\n')
  t.like(await fire(org, path), {outcome: 'skipped', importId: null, reason: {code: 'FILE_NO_ROWS'}})
  t.like((await ok(org.call('GET', path), 200)).schedule, {enabled: true, failures: 0})
})

test('a web page, XML or JSON instead of the file counts as a failure, sends a notice and stops the schedule', async t => {
  const {path, schedule} = await makeSchedule(org, host)
  const before = await countImports()
  const pages: [string, string][] = [
    ['text/csv', '<html><body>Please sign in</body></html>'],
    ['text/html', '<br />\n<b>Fatal error</b>: no file\n'],
    ['application/json', '{"error":"Please sign in"}'],
    ['application/xml', '<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>'],
    ['text/html', `<!doctype html><html><body>${'<p>name,number,city</p>\n'.repeat(5_000)}</body></html>`],
  ]
  for (const [at, [type, body]] of pages.entries()) {
    host.answer(response => void response.setHeader('content-type', type).end(body))
    t.like(await fire(org, path), {outcome: 'failed', importId: null, runId: null, tries: 0, reason: {code: 'NOT_A_TABLE'}}, body)
    t.is((await ok(org.call('GET', path), 200)).schedule.failures, at + 1)
  }
  t.like((await ok(org.call('GET', path), 200)).schedule, {enabled: false, stopped: {code: 'FAILED_REPEATEDLY'}})
  t.deepEqual(
    (await noticesOf(house, schedule.id)).map(({kind, about}) => [kind, about.code]),
    [...pages.map(() => ['schedule.failed', 'NOT_A_TABLE']), ['schedule.stopped', 'FAILED_REPEATEDLY']],
  )
  t.is(await countImports(), before)
})

/** Fires the schedule and returns once its file is requested. `end` completes the response. */
const fireSlowly = async (path: string, prefix: string) => {
  let end = () => {}
  host.answer(response => {
    end = () => void response.end(accountRows(1, prefix))
  })
  const asked = host.requests.length
  const fired = await ok(org.call('POST', `${path}/run`, {}), 202)
  await until(
    () => host.requests.length,
    count => count > asked,
  )
  return {...fired, end: () => end()}
}

test('a firing whose maker loses the right while the file arrives runs nothing and leaves no import', async t => {
  const maker = await house.makeOrg({org: org.org, role: 'builder'})
  const {path, template} = await makeSchedule({...org, call: house.as(maker.token)}, host)
  await ok(house.as(maker.token)('POST', `${template}/share`, {}), 200)
  const before = await countImports()
  const {firing, end} = await fireSlowly(path, 'demoted-')
  await house.hot.query(`update members set role = 'operator' where person_id = $1`, [maker.person])
  end()
  t.like(await untilOver(org, path, firing.id), {outcome: 'failed', runId: null, reason: {code: 'CREATOR_RANK'}})
  t.like((await ok(org.call('GET', path), 200)).schedule, {enabled: false, stopped: {code: 'CREATOR_RANK'}})
  await until(countImports, count => count === before)
})

test('a schedule that is removed while its file arrives leaves no import', async t => {
  const {path} = await makeSchedule(org, host)
  const before = await countImports()
  const {firing, job, end} = await fireSlowly(path, 'removed-')
  await ok(org.call('DELETE', path), 200)
  end()
  const [done] = await until(
    () => house.queue.findJobs<any>('schedule.fire', {key: firing.id}),
    ([one]) => one?.state === 'completed',
  )
  t.like(done, {id: job.id, output: {answer: {state: 'held'}}})
  t.is(await countImports(), before)
})

test('a run started by a schedule is reported with its schedule by webhook and email', async t => {
  const {secret, webhook} = await ok(org.call('POST', `/orgs/${org.org}/webhooks`, {url: receiver.url('/fired'), events: []}), 201)
  const {email} = (await ok(org.call('GET', '/auth/me'), 200)).user
  await t.throwsAsync(
    makeSchedule(org, host, {name: 'Mine\r\nBcc: all@evil.example'}),
    {message: /control characters/},
    'a name is one line',
  )
  const {path, template} = await makeSchedule(org, host, {
    name: 'Mine Bcc: all@evil.example',
    notify: {emails: [email], endpoints: [webhook.id]},
  })
  host.serve(accountRows(2, 'told-'))
  const firing = await fire(org, path)
  const [told] = await until(
    () => receiver.at('/fired'),
    all => all.length > 0,
  )
  const [schedule, of, base] = [path.split('/').at(-1)!, template.split('/').at(-1)!, house.config.PUBLIC_URL]
  t.like(new Webhook(secret).verify(told!.body, told!.headers), {
    type: 'run.ended',
    data: {schedule, template: of, run: firing.runId, import: firing.importId, rowsWritten: 2, links: {schedule: `${base}${path}`}},
  })
  const [letter] = await until(
    () => smtp.letters,
    all => all.length > 0,
  )
  const text = letter!.text.replaceAll('=\n', '').replaceAll('=3D', '=')
  t.deepEqual(letter!.to, [email])
  for (const said of [`Schedule: ${base}/#/templates/${of}/schedules/${schedule}`, `Template: ${of}`, 'Accounts: 2 created'])
    t.true(text.includes(said), text)
  for (const body of [told!.body, text])
    for (const canary of ['told-', 'Company', 'orders.csv', 'evil']) t.false(body.includes(canary), body)
})
