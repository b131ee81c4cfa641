import {randomBytes} from 'node:crypto'
import test from 'ava'
import {resealSchedules} from '../../shared/schedules/reseal.ts'
import {sourceOf} from '../../shared/schedules/schedule.ts'
import {findFired} from '../../sql/schedules.ts'
import type {Call, HttpAnswer} from '../support/client.ts'
import {type Org, ok, openOrg} from '../support/importing.ts'
import {type FileHost, makeSchedule, makeTemplate, seldom, startFileHost} from '../support/schedules.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let house: TestDeployment
let host: FileHost
let org: Org

test.before(async t => {
  host = await startFileHost()
  house = await startTestDeployment(t, {workers: ['discovery'], environment: {PRIVATE_HOSTS: host.place}})
  org = await openOrg(house)
})
test.after.always(() => host.stop())

const refused = (t: any, {status, body}: HttpAnswer, wanted: number, code: string, says?: RegExp) => {
  t.is(status, wanted, JSON.stringify(body))
  t.is(body.code, code)
  if (says) t.regex(body.error, says)
}

const colleague = async (role: 'operator' | 'builder' | 'admin'): Promise<Call> =>
  house.as((await house.makeOrg({org: org.org, role})).token)

test.serial('a schedule shows its next times, and never its credentials', async t => {
  const {schedule, path} = await makeSchedule(org, host, {cron: '30 2 * * *', timezone: 'Europe/Berlin', declaredRows: 50})
  t.is(schedule.next.length, 5)
  for (const {at, local} of schedule.next) {
    t.regex(local, /^\d{4}-\d\d-\d\dT0[23]:[03]0\+0[12]:00$/)
    t.is(Date.parse(local), Date.parse(at))
  }
  t.deepEqual(schedule.source, {kind: 'https', url: host.source.url, credentials: ['bearer']})
  t.like(schedule, {enabled: true, stopped: null, onDrift: 'stop', declaredRows: 50, version: 1, lastFiring: null, notify: null})
  const {text} = await org.call('GET', path)
  t.false(text.includes('let-me-in'))
  const [{row}] = (await house.hot.query('select to_jsonb(s)::text as row from schedules s where id = $1', [schedule.id])).rows
  t.false(row.includes('let-me-in'))
  const listed = await ok(org.call('GET', path.replace(/\/[^/]+$/, '')), 200)
  t.deepEqual(
    listed.schedules.map(({id}: {id: string}) => id),
    [schedule.id],
  )
  await ok(org.call('DELETE', path), 200)
  refused(t, await org.call('GET', path), 404, 'NOT_FOUND')
})

test.serial('a change keeps the credentials only for the same address, and needs the current version', async t => {
  const {path, body} = await makeSchedule(org, host)
  const {bearer: _, ...shown} = host.source
  const changed = await ok(
    org.call('PUT', path, {...body, name: 'Weekly', source: {...shown, url: `${shown.url}?day=1`}}, {'if-match': '"1"'}),
    200,
  )
  t.like(changed.schedule, {name: 'Weekly', version: 2, enabled: true})
  t.deepEqual([...changed.schedule.source.credentials].sort(), ['bearer', 'query'])
  refused(t, await org.call('PUT', path, body, {'if-match': '"1"'}), 409, 'SCHEDULE_CONFLICT', /version 2/)
  for (const url of ['https://elsewhere.example/a.csv', `${shown.url}/mine`])
    refused(t, await org.call('PUT', path, {...body, source: {...shown, url}}), 400, 'INVALID')
  const off = await org.call('PATCH', path, {enabled: false}, {'if-match': '"2"'})
  t.is(off.headers.get('etag'), '"3"')
  t.like(off.body.schedule, {enabled: false, next: [], stopped: null})
  t.like((await ok(org.call('PUT', path, body), 200)).schedule, {enabled: false, version: 4})
  t.is((await ok(org.call('PATCH', path, {enabled: true}), 200)).schedule.next.length, 5)
  await ok(org.call('DELETE', path), 200)
})

test.serial('a firing due before a change still fires after it', async t => {
  const {path, schedule, body} = await makeSchedule(org, host)
  const due = 'select next_due_at as due from schedules where id = $1'
  await house.hot.query(`update schedules set next_due_at = lading_now() - interval '3 hours' where id = $1`, [schedule.id])
  const [before] = (await house.hot.query(due, [schedule.id])).rows
  await ok(org.call('PUT', path, {...body, name: 'Renamed', cron: '0 0 1 * *'}), 200)
  t.deepEqual((await house.hot.query(due, [schedule.id])).rows, [before])
  await ok(org.call('PATCH', path, {enabled: false}), 200)
  await ok(org.call('PATCH', path, {enabled: true}), 200)
  const [after] = (await house.hot.query(due, [schedule.id])).rows
  t.true(after.due > new Date(), 'not what was due while it was off')
  await ok(org.call('DELETE', path), 200)
})

test.serial('a schedule whose time zone no longer exists is still listed, and cannot be turned on', async t => {
  const {path, schedule} = await makeSchedule(org, host)
  await house.hot.query(`update schedules set timezone = 'Mars/Olympus' where id = $1`, [schedule.id])
  t.like((await ok(org.call('GET', path), 200)).schedule, {enabled: true, next: []})
  await ok(org.call('PATCH', path, {enabled: false}), 200)
  refused(t, await org.call('PATCH', path, {enabled: true}), 400, 'INVALID', /time zone/)
  await ok(org.call('DELETE', path), 200)
})

test.serial('a template deleted while schedules are being created deletes all of them', async t => {
  const of = await makeTemplate(org)
  const body = {name: 'Late', ...seldom, source: host.source, enabled: false}
  const asked = await Promise.all(
    Array.from({length: 12}, (_, n) => (n === 4 ? org.call('DELETE', of) : org.call('POST', `${of}/schedules`, body))),
  )
  for (const {status, text} of asked) t.true([200, 201, 404].includes(status), text)
})

test.serial('impossible times and connections that differ from the template’s are refused', async t => {
  const of = await makeTemplate(org)
  const post = (more: object) => org.call('POST', `${of}/schedules`, {name: 'No', ...seldom, source: host.source, ...more})
  refused(t, await post({cron: '* * * * * *'}), 400, 'INVALID')
  refused(t, await post({cron: '0 0 30 2 *'}), 400, 'INVALID', /never fires/)
  refused(t, await post({timezone: 'Mars/Olympus'}), 400, 'INVALID', /time zone/)
  refused(t, await post({connectorId: 'con_nobodys'}), 400, 'INVALID', /another connection/)
  refused(t, await post({source: {kind: 'ftp', host: 'a'}}), 400, 'INVALID')
  const anywhere = await makeTemplate(org, {name: 'Anywhere', connectorId: null})
  const {schedule} = await ok(org.call('POST', `${anywhere}/schedules`, {name: 'Yes', ...seldom, source: host.source}), 201)
  t.is(schedule.connectorId, org.connector)
})

test.serial('the schedules of a private template are hidden; those of a shared one are visible to builders, not operators', async t => {
  const {path, template} = await makeSchedule(org, host)
  const [builder, operator] = [await colleague('builder'), await colleague('operator')]
  refused(t, await builder('GET', path), 404, 'NOT_FOUND')
  refused(t, await builder('GET', `${template}/schedules`), 404, 'NOT_FOUND')
  refused(t, await builder('POST', `${path}/run`, {}), 404, 'NOT_FOUND')
  await ok(org.call('POST', `${template}/share`, {}), 200)
  await ok(builder('GET', path), 200)
  refused(t, await operator('GET', path), 403, 'ROLE_REQUIRED')
  await ok(org.call('DELETE', template), 200)
  const [{count}] = (await house.hot.query('select count(*) from schedules where id = $1', [path.split('/').at(-1)])).rows
  t.is(count, 0)
})

test.serial('a staff view cannot create a schedule, because it would run for no member of the org', async t => {
  const of = await makeTemplate(org)
  await ok(org.call('POST', `${of}/share`, {}), 200)
  const view = house.as(await house.openView({org: org.org, write: true}))
  refused(t, await view('POST', `${of}/schedules`, {name: 'No', ...seldom, source: host.source}), 403, 'STAFF_VIEW')
  await ok(org.call('DELETE', of), 200)
})

test.serial('a staff view cannot change who gets the notices of a schedule, and an equal body changes nothing', async t => {
  const {webhook} = await ok(org.call('POST', `/orgs/${org.org}/webhooks`, {url: 'https://hooks.example.com/x'}), 201)
  const notify = {emails: [], endpoints: [webhook.id], on: ['run.ended']}
  const {template: of, path, schedule, body} = await makeSchedule(org, host, {notify})
  await ok(org.call('POST', `${of}/share`, {}), 200)
  const view = house.as(await house.openView({org: org.org, write: true}))
  const other = {...body, name: 'Renamed', notify: {...notify, on: ['run.held']}}
  for (const changed of [other, {...other, notify: null}]) refused(t, await view('PUT', path, changed), 403, 'IMPERSONATION_REFUSED')
  for (const call of [view, org.call]) t.like((await ok(call('PUT', path, body), 200)).schedule, {version: 1, name: schedule.name, notify})
  const {changes} = await ok(org.call('GET', `/orgs/${org.org}/config/changes?page=templates`), 200)
  t.like(
    changes.find(({subject}: {subject: string}) => subject.startsWith('schedule.')),
    {subject: 'schedule.created'},
  )
  t.is((await ok(view('PUT', path, {...body, name: 'Renamed'}), 200)).schedule.version, 2)
  t.is((await ok(org.call('PUT', path, other), 200)).schedule.version, 3)
  await ok(org.call('DELETE', of), 200)
})

test.serial('concurrent requests cannot enable more schedules than the plan allows', async t => {
  await house.hot.query('update schedules set enabled = false, next_due_at = null')
  await house.hot.query(`update plan_versions set limits = limits || '{"schedules": 5}'`)
  const of = await makeTemplate(org)
  const body = {name: 'One', ...seldom, source: host.source}
  const asked = await Promise.all(Array.from({length: 8}, () => org.call('POST', `${of}/schedules`, body)))
  t.deepEqual(asked.map(({status}) => status).sort(), [201, 201, 201, 201, 201, 402, 402, 402])
  const over = asked.find(({status}) => status === 402)!
  t.like(over.body, {code: 'LIMIT_SCHEDULES', limit: 5, used: 5})
  const {schedule} = await ok(org.call('POST', `${of}/schedules`, {...body, enabled: false}), 201)
  const one = `${of}/schedules/${schedule.id}`
  refused(t, await org.call('PATCH', one, {enabled: true}), 402, 'LIMIT_SCHEDULES')
  const [made] = asked.filter(({status}) => status === 201)
  const other = `${of}/schedules/${made!.body.schedule.id}`
  await ok(org.call('PUT', other, body), 200)
  await ok(org.call('PATCH', other, {enabled: false}), 200)
  await ok(org.call('PATCH', one, {enabled: true}), 200)
  refused(t, await org.call('PUT', other, {...body, enabled: true}), 402, 'LIMIT_SCHEDULES')
  await house.hot.query(`update plan_versions set limits = limits || '{"schedules": 3}'`)
  await ok(org.call('PUT', one, {...body, name: 'Of a plan that had more room'}), 200)
  await house.hot.query(`update plan_versions set limits = limits || '{"schedules": 5}'`)
})

test.serial('credentials whose key is lost have to be entered again', async t => {
  const {path, body, schedule} = await makeSchedule(org, host, {enabled: false})
  await house.hot.query(`update schedules set credentials = 'v1.lost.a.a' where id = $1`, [schedule.id])
  const {bearer: _, ...shown} = host.source
  const bare = await org.call('PUT', path, {...body, source: shown})
  refused(t, bare, 400, 'INVALID')
  t.like(bare.body.issues, [{path: ['bearer'], message: 'This credential can no longer be decrypted. Send it again, or null to remove it'}])
  for (const source of [host.source, shown])
    t.deepEqual((await ok(org.call('PUT', path, {...body, source}), 200)).schedule.source.credentials, ['bearer'])
})

test.serial('credentials are encrypted again under a new key, and then open without the old one', async t => {
  const {schedule} = await makeSchedule(org, host, {enabled: false})
  const added = {id: 'k2', key: randomBytes(32)}
  const tools = {db: house.db, ring: [added, ...house.config.SECRETS_KEYS], log: house.tools.log}
  const {resealed, remaining} = await resealSchedules(tools)
  t.true(resealed > 0)
  t.is(remaining, 0)
  const row = await findFired(house.db, {org: org.org, id: schedule.id})
  t.like(sourceOf({SECRETS_KEYS: [added]}, row!), {bearer: 'let-me-in'})
  t.throws(() => sourceOf(house.config, row!), {message: /k2 is not in SECRETS_KEYS/})
  t.deepEqual(await resealSchedules(tools), {resealed: 0, remaining: 0})
})

test.serial('every change of a schedule is on the templates page, without address and credentials', async t => {
  await house.hot.query('update schedules set enabled = false, next_due_at = null')
  const {path, schedule, body} = await makeSchedule(org, host)
  await ok(org.call('PUT', path, {...body, cron: '0 0 1 * *'}), 200)
  const {bearer: _, ...shown} = host.source
  await ok(org.call('PUT', path, {...body, source: {...shown, bearer: 'another-credential'}}), 200)
  for (let time = 0; time < 2; time++) await ok(org.call('PATCH', path, {enabled: false}), 200)
  await ok(org.call('DELETE', path), 200)
  const {changes} = await ok(org.call('GET', `/orgs/${org.org}/config/changes?page=templates`), 200)
  const found = changes.filter(({subject}: {subject: string}) => subject.startsWith('schedule.')).slice(0, 5)
  const about = {scheduleId: schedule.id, templateId: schedule.templateId}
  t.like(found, [
    {subject: 'schedule.deleted', before: about, after: null},
    {subject: 'schedule.enabled', before: true, after: false},
    {subject: 'schedule.changed', after: {...about, version: 3, sourceChanged: true}},
    {subject: 'schedule.changed', before: {version: 1}, after: {cron: '0 0 1 * *', version: 2, sourceChanged: false}},
    {subject: 'schedule.created', before: null, after: {...about, version: 1}},
  ])
  for (const {via, userId} of found) t.deepEqual([via, userId], ['session', schedule.createdBy.id ?? schedule.createdBy])
  for (const hidden of ['another-credential', 'let-me-in', host.source.url]) t.false(JSON.stringify(found).includes(hidden), hidden)
})
