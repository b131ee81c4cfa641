import test from 'ava'
import {accountRows, type Org, ok, openOrg, readLog} from '../support/importing.ts'
import {type FileHost, fire, listFirings, makeSchedule, noticesOf, startFileHost, untilOver} from '../support/schedules.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

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

/** Creates a schedule. Disables all earlier ones, to stay within the plan. */
const make = async (more: object = {}, by: Org = org) => {
  await house.hot.query(`update schedules set enabled = false, next_due_at = null where created_by is not null`)
  return makeSchedule(by, host, more)
}
const idOf = (path: string) => path.split('/').at(-1)!
const read = async (path: string) => (await ok(org.call('GET', path), 200)).schedule
/** Sets the next due time to now. Later due times stay unchanged. */
const makeDue = (path: string) =>
  house.hot.query(`update schedules set next_due_at = date_trunc('milliseconds', lading_now()) where id = $1`, [idOf(path)])
const importsOf = async () => (await ok(org.call('GET', `/orgs/${org.org}/imports?limit=200`), 200)).imports

test.serial('a due schedule fetches its file, creates an import of the template and runs it as its maker', async t => {
  const {path, schedule} = await make({cron: '0 0 1 * *'})
  host.serve(accountRows(3, 'due-'))
  await makeDue(path)
  const [firing] = await until(
    () => listFirings(org, path),
    ([newest]) => newest?.state === 'ended',
  )
  t.like(firing, {by: 'clock', outcome: 'done', reason: null, missed: 0, tries: 0, drift: []})
  t.like(firing.counts, {rowsWritten: 3, modules: {Accounts: {created: 3}}})
  const run = `/orgs/${org.org}/imports/${firing.importId}/runs/${firing.runId}`
  t.is((await readLog(org.call, run)).length, 3)
  t.like((await ok(org.call('GET', run), 200)).run, {declaredRows: 3, state: 'ended'})
  const {changes} = await ok(org.call('GET', `/orgs/${org.org}/config/changes?page=imports`), 200)
  t.like(changes[0], {
    subject: 'import.created',
    via: 'schedule',
    userId: null,
    after: {importId: firing.importId, templateId: schedule.templateId},
  })
  const {lastFiring, next} = await read(path)
  t.is(lastFiring.id, firing.id)
  t.is(next.length, 5)
  t.is((await listFirings(org, path)).length, 1)
  t.is(host.requests.at(-1)!.authorization, 'Bearer let-me-in')
  const {rows} = await house.hot.query('select person_id as person, template_id as template from runs where id = $1', [firing.runId])
  t.deepEqual(rows, [{person: schedule.createdBy, template: schedule.templateId}])
})

test.serial('a file that was already run is not run again, unless a person asks or the template changed', async t => {
  const {path, template} = await make()
  host.serve(accountRows(2, 'same-'))
  t.like(await fire(org, path), {outcome: 'done', by: 'person'})
  const before = (await importsOf()).length
  t.like(await fire(org, path), {outcome: 'unchanged', importId: null, runId: null, reason: {code: 'UNCHANGED'}})
  t.is((await importsOf()).length, before)
  t.like((await fire(org, path, {again: true})).counts, {modules: {Accounts: {updated: 2}}})
  const {template: known} = await ok(org.call('GET', template), 200)
  const {name, description, connectorId, sources, flows} = known
  await ok(org.call('PUT', template, {name: `${name}, again`, description, connectorId, sources, flows}), 200)
  t.like(await fire(org, path), {outcome: 'done'})
  t.like(await fire(org, path), {outcome: 'unchanged'})
})

test.serial('a firing counts unchanged rows, and the questions of its run until they are answered', async t => {
  const {path, template: of} = await make()
  const {template: known} = await ok(org.call('GET', of), 200)
  const match = {by: ['Account_Name'], onOne: 'update', onMany: 'ask', unchanged: 'skip'}
  const {name, description, connectorId, sources, flows} = known
  await ok(org.call('PUT', of, {name, description, connectorId, sources, flows: [{...flows[0], match}]}), 200)
  const held = {Account_Name: 'Unchanged', Account_Number: 'asks-1', Billing_City: 'Bilbao'}
  house.crm.create('example', 'Accounts', [held, {Account_Name: 'Twin'}, {Account_Name: 'Twin'}])
  host.serve('name,number,city\nUnchanged,asks-1,Bilbao\nTwin,asks-2,Lyon\n')
  const firing = await fire(org, path)
  t.like(firing, {outcome: 'done', counts: {rowsWritten: 0, unchanged: 1, keptRows: 0}, openQuestions: 1})
  const questions = `/orgs/${org.org}/imports/${firing.importId}/runs/${firing.runId}/questions`
  const [{key}] = (await ok(org.call('GET', questions), 200)).questions
  await ok(org.call('POST', questions, {answers: [{key, choice: 'skip'}]}), 200)
  t.is((await read(path)).lastFiring.openQuestions, 0)
})

test.serial('a missing column stops a firing before row 1, while the schedule stays enabled and the import is kept', async t => {
  const {path} = await make()
  host.serve('name,number,town\nA,drift-1,B\n')
  const firing = await fire(org, path)
  t.like(firing, {outcome: 'drifted', runId: null, reason: {code: 'DRIFTED'}})
  t.like(
    firing.drift.find(({stops}: any) => stops),
    {kind: 'column_missing', column: 'city', slot: 'companies'},
  )
  t.true((await read(path)).enabled)
  const kept = await ok(org.call('GET', `/orgs/${org.org}/imports/${firing.importId}`), 200)
  t.is(kept.import.sources.length, 1)
  t.like(await noticesOf(house, idOf(path)), [{kind: 'schedule.drifted', about: {firing: firing.id, import: firing.importId}}])
})

test.serial('a new column under `warn` is reported, and the file is run', async t => {
  const {path} = await make({onDrift: 'warn'})
  host.serve('name,number,city,fax\nA,warn-1,B,1\n')
  const firing = await fire(org, path)
  t.like(firing, {outcome: 'done', counts: {rowsWritten: 1}})
  t.like(firing.drift, [{kind: 'column_new', column: 'fax', stops: false}])
  t.like((await noticesOf(house, idOf(path)))[0], {kind: 'schedule.drifted', about: {run: firing.runId, changes: 1}})
})

test.serial('a file that cannot be read fails its firing and leaves no import', async t => {
  const {path} = await make()
  const before = (await importsOf()).length
  host.serve('')
  t.like(await fire(org, path), {outcome: 'failed', importId: null, reason: {code: 'FILE_EMPTY'}, tries: 0})
  t.is((await importsOf()).length, before)
  t.is((await read(path)).failures, 1)
  t.like(await noticesOf(house, idOf(path)), [{kind: 'schedule.failed', about: {code: 'FILE_EMPTY'}}])
})

test.serial('an unreachable host is retried twice before the firing fails, and the fifth failure disables the schedule', async t => {
  const {path} = await make()
  const before = host.requests.length
  host.fail(404)
  const {firing} = await ok(org.call('POST', `${path}/run`, {}), 202)
  for (const tries of [1, 2]) {
    const waiting = await untilOver(org, path, firing.id, one => one.state === 'due' && one.tries === tries)
    t.true(Date.parse(waiting.tryAgainAt) > Date.now())
    t.like(waiting, {outcome: null, reason: {code: 'NOT_FOUND'}})
    await house.hot.query(`update firings set lease_until = lading_now() - interval '3 seconds' where id = $1`, [firing.id])
  }
  t.like(await untilOver(org, path, firing.id), {outcome: 'failed', reason: {code: 'NOT_FOUND'}, tries: 2})
  t.is(host.requests.length - before, 3)
  await house.hot.query('update schedules set failures = 4 where id = $1', [idOf(path)])
  host.serve('')
  await fire(org, path)
  t.like(await read(path), {enabled: false, next: [], stopped: {code: 'FAILED_REPEATEDLY'}})
  t.deepEqual(
    (await noticesOf(house, idOf(path))).map(({kind}) => kind),
    ['schedule.failed', 'schedule.failed', 'schedule.stopped'],
  )
  t.like((await ok(org.call('PATCH', path, {enabled: true}), 200)).schedule, {enabled: true, stopped: null, failures: 0})
})

test.serial('a firing that waits for its file starts no run after its schedule was turned off, unless a person fired it', async t => {
  for (const by of ['clock', 'person']) {
    const {path} = await make()
    host.fail(404)
    if (by === 'clock') await makeDue(path)
    else await ok(org.call('POST', `${path}/run`, {}), 202)
    const [waiting] = await until(
      () => listFirings(org, path),
      ([one]) => one?.tries === 1,
    )
    await ok(org.call('PATCH', path, {enabled: false}), 200)
    host.serve(accountRows(1, 'off-'))
    await house.hot.query(`update firings set lease_until = lading_now() - interval '3 seconds' where id = $1`, [waiting.id])
    const ended = await untilOver(org, path, waiting.id)
    if (by === 'person') t.like(ended, {by, outcome: 'done'})
    else t.like(ended, {by, outcome: 'skipped', importId: null, reason: {code: 'SCHEDULE_OFF'}})
  }
})

test.serial('a firing whose schedule is changed while its file is fetched starts over with the new settings', async t => {
  const {path, body} = await make()
  const held = Promise.withResolvers<() => void>()
  const isOld = (url: string | undefined) => url === '/orders.csv'
  host.answer(response => {
    const end = () => void response.end(accountRows(1, isOld(response.req.url) ? 'old-place-' : 'new-place-'))
    isOld(response.req.url) ? held.resolve(end) : end()
  })
  const {firing} = await ok(org.call('POST', `${path}/run`, {}), 202)
  const end = await held.promise
  await ok(org.call('PUT', path, {...body, source: {...host.source, url: `http://${host.place}/new.csv`}}), 200)
  end()
  t.like(await untilOver(org, path, firing.id), {outcome: 'done', tries: 0})
  const numbers = house.crm.records('example', 'Accounts').map(record => `${record.Account_Number}`)
  t.deepEqual(
    numbers.filter(number => number.includes('-place-')),
    ['new-place-1'],
  )
})

test.serial('a due time during a running firing is skipped and reported, and a second firing is refused', async t => {
  const {path} = await make()
  let end = () => {}
  host.answer(response => {
    end = () => void response.end(accountRows(1, 'slow-'))
  })
  const asked = host.requests.length
  const {firing} = await ok(org.call('POST', `${path}/run`, {}), 202)
  await until(
    () => host.requests.length,
    count => count > asked,
  )
  await makeDue(path)
  const skipped = await until(
    async () => (await listFirings(org, path)).find(({by}) => by === 'clock'),
    one => one !== undefined,
  )
  t.like(skipped, {state: 'ended', outcome: 'skipped', reason: {code: 'ALREADY_RUNNING', firing: firing.id}, importId: null})
  const again = await org.call('POST', `${path}/run`, {})
  t.is(again.status, 409)
  t.like(again.body, {code: 'IMPORT_RUNNING', firing: firing.id})
  end()
  t.like(await untilOver(org, path, firing.id), {outcome: 'done'})
  t.like(await noticesOf(house, idOf(path)), [{kind: 'schedule.skipped', about: {code: 'ALREADY_RUNNING'}}])
})

test.serial('a firing is skipped while writes are paused, and an ended connection disables the schedule', async t => {
  const {path} = await make()
  const writing = `/orgs/${org.org}/config/writing?connector=${org.connector}`
  host.serve(accountRows(1, 'pause-'))
  await ok(org.call('PATCH', writing, {paused: true}), 200)
  t.like(await fire(org, path), {outcome: 'skipped', reason: {code: 'WRITES_PAUSED'}})
  t.true((await read(path)).enabled)
  await ok(org.call('PATCH', writing, {paused: false}), 200)
  await house.hot.query(`update connectors set state = 'ended' where id = $1`, [org.connector])
  t.like(await fire(org, path), {outcome: 'failed', reason: {code: 'CONNECTION_ENDED'}})
  t.like(await read(path), {enabled: false, stopped: {code: 'CONNECTION_ENDED'}})
  await house.hot.query(`update connectors set state = 'connected' where id = $1`, [org.connector])
})

test.serial("a schedule acts with its maker's rights, and is disabled when those end", async t => {
  const ends: [code: string, set: string, back: string | null][] = [
    [
      'CREATOR_RANK',
      `update members set role = 'operator' where person_id = $1`,
      `update members set role = 'builder' where person_id = $1`,
    ],
    ['CREATOR_BLOCKED', 'update people set banned_at = now() where id = $1', 'update people set banned_at = null where id = $1'],
    ['TEMPLATE_HIDDEN', `update templates set created_by = null where created_by = $1`, null],
    ['CREATOR_LEFT', 'delete from members where person_id = $1', null],
  ]
  const maker = await house.makeOrg({org: org.org, role: 'builder'})
  const {path, template} = await make({}, {...org, call: house.as(maker.token)})
  await ok(house.as(maker.token)('POST', `${template}/share`, {}), 200)
  host.serve(accountRows(1, 'maker-'))
  for (const [code, set, back] of ends) {
    if (code === 'TEMPLATE_HIDDEN') await house.hot.query('update templates set shared = false where id = $1', [idOf(template)])
    await house.hot.query('update schedules set enabled = true, stopped = null, next_due_at = lading_now() where id = $1', [idOf(path)])
    await house.hot.query(set, [maker.person])
    const look = `select s.enabled, s.stopped ->> 'code' as code, s.next_due_at as next,
      (select outcome from firings where schedule_id = s.id and state = 'ended' order by id desc limit 1) as outcome from schedules s where s.id = $1`
    const {rows} = await until(
      () => house.hot.query(look, [idOf(path)]),
      ({rows: [row]}) => row.code === code,
    )
    t.deepEqual(rows, [{enabled: false, code, next: null, outcome: 'failed'}])
    if (back) await house.hot.query(back, [maker.person])
    if (code === 'TEMPLATE_HIDDEN') await house.hot.query('update templates set shared = true where id = $1', [idOf(template)])
  }
  t.is((await noticesOf(house, idOf(path))).filter(({kind}) => kind === 'schedule.stopped').length, ends.length)
})

test.serial('schedules of a closed org wait, and catch up with one firing when it is reopened', async t => {
  const {path} = await make({cron: '*/5 * * * *'})
  host.serve(accountRows(1, 'closed-'))
  await house.hot.query('update orgs set closed_at = now() where id = $1', [org.org])
  await house.hot.query(
    `update schedules set next_due_at = to_timestamp(floor(extract(epoch from lading_now()) / 300) * 300) - interval '15 minutes' where id = $1`,
    [idOf(path)],
  )
  // A due schedule of another org proves that the clock worker has looked for due schedules.
  const other = await openOrg(house, 'zoe@other.example')
  const theirs = await makeSchedule(other, host)
  await makeDue(theirs.path)
  await until(
    () => listFirings(other, theirs.path),
    ([one]) => one?.state === 'ended',
  )
  const {rows} = await house.hot.query('select count(*) from firings where schedule_id = $1', [idOf(path)])
  t.is(rows[0].count, 0)
  await house.hot.query('update orgs set closed_at = null where id = $1', [org.org])
  const firings = await until(
    () => listFirings(org, path),
    ([one]) => one?.state === 'ended',
  )
  t.is(firings.length, 1)
  t.like(firings[0], {outcome: 'done'})
  t.true(firings[0].missed >= 3)
})
