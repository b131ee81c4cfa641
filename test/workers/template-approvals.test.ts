import test from 'ava'
import {deleteOldAudit} from '../../sql/audit-events.ts'
import {accountRows, type Org, ok, openOrg} from '../support/importing.ts'
import {type FileHost, fire, makeSchedule, startFileHost} from '../support/schedules.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let house: TestDeployment
let host: FileHost
let org: Org

test.before(async t => {
  host = await startFileHost()
  const workers = ['imports', 'discovery', 'schedules', 'clock']
  house = await startTestDeployment(t, {workers, environment: {PRIVATE_HOSTS: host.place, LEASE_SECONDS: '2'}})
  org = await openOrg(house)
  await ok(org.call('PATCH', `/orgs/${org.org}/config/settings`, {approvalAbove: 3}), 200)
})
test.after.always(() => host.stop())

const join = async (role: 'admin' | 'builder') => house.as((await house.makeOrg({org: org.org, role})).token)
const readApproval = async (template: string, call = org.call) => (await ok(call('GET', `${template}/approval`), 200)).approval
/** Deletes the settings history, as the nightly task does with old history. */
const deleteHistory = () => deleteOldAudit(house.db, {days: 0, limit: 1000})
const isRefused = (status: number, code: string) => ({status, body: {code}})
const rename = async (template: string, call: Org['call'], name: string) => {
  const {template: found} = await ok(call('GET', template), 200)
  const {description, connectorId, sources, flows} = found
  await ok(call('PUT', template, {name, description, connectorId, sources, flows}), 200)
}

test.serial('a schedule writes more rows than the setting only with the approved version of its template', async t => {
  host.serve(accountRows(5, 'Sa-'))
  const {template, path} = await makeSchedule(org, host)
  const other = await join('admin')
  t.like(await fire(org, path), {outcome: 'failed', reason: {code: 'APPROVAL_REQUIRED', approvalAbove: 3}, runId: null})
  t.like(await readApproval(template), {version: 1, approvalAbove: 3, isApproved: false, isAuthor: true, approved: null})
  t.like(await readApproval(template, other), {isAuthor: false})

  const approve = `${template}/approve`
  t.like(await org.call('POST', approve, {version: 1}), isRefused(403, 'SELF_APPROVAL'))
  t.like(await other('POST', approve, {version: 2}), isRefused(409, 'TEMPLATE_CONFLICT'))
  t.like(await (await join('builder'))('POST', approve, {version: 1}), {status: 403})
  const {secret} = await ok(org.call('POST', `/orgs/${org.org}/tokens`, {name: 'ci'}), 201)
  t.like(await house.as(secret)('POST', approve, {version: 1}), isRefused(403, 'SESSION_REQUIRED'))
  const {approval} = await ok(other('POST', approve, {version: 1}), 200)
  t.like(approval, {isApproved: true, approved: {version: 1}})
  t.deepEqual((await ok(other('POST', approve, {version: 1}), 200)).approval, approval)

  const id = template.split('/').at(-1)
  const notices = await house.hot.query(`select about from notices where kind = 'template.approved' and about ->> 'template' = $1`, [id])
  t.deepEqual(
    notices.rows.map(({about}) => about),
    [{template: id, version: 1, digest: approval.approved.digest}],
  )
  const {changes} = await ok(org.call('GET', `/orgs/${org.org}/config/changes?limit=50`), 200)
  t.is((changes as any[]).filter(({subject, after}) => subject === 'template.approved' && after.templateId === id).length, 1)

  t.like(await fire(org, path), {outcome: 'done', counts: {rowsWritten: 5}})
})

test.serial('a changed template needs a new approval, which its last authors cannot give', async t => {
  host.serve(accountRows(4, 'Sb-'))
  const {template, path} = await makeSchedule(org, host)
  const [first, second] = [await join('admin'), await join('admin')]
  await ok(first('POST', `${template}/approve`, {version: 1}), 200)
  t.like(await fire(org, path), {outcome: 'done', counts: {rowsWritten: 4}})

  await rename(template, first, 'Companies of the week')
  host.serve(accountRows(4, 'Sc-'))
  t.like(await fire(org, path), {outcome: 'failed', reason: {code: 'APPROVAL_REQUIRED'}})
  t.like(await readApproval(template), {version: 2, isApproved: false, isAuthor: false, approved: {version: 1}})
  t.like(await first('POST', `${template}/approve`, {version: 2}), isRefused(403, 'SELF_APPROVAL'))
  await deleteHistory()
  t.like(
    await first('POST', `${template}/approve`, {version: 2}),
    isRefused(403, 'SELF_APPROVAL'),
    'its history is kept until the approval',
  )
  await ok(second('POST', `${template}/approve`, {version: 2}), 200)
  t.like(await fire(org, path), {outcome: 'done', counts: {rowsWritten: 4}})
  await deleteHistory()
  const ofTemplate = `select from changes where after ->> 'templateId' = $1`
  t.is((await house.hot.query(ofTemplate, [template.split('/').at(-1)])).rowCount, 0)
})

test.serial('an admin cannot approve a version that an API token of the admin wrote', async t => {
  const {template} = await makeSchedule(org, host)
  const [author, other] = [await join('admin'), await join('admin')]
  const {secret} = await ok(author('POST', `/orgs/${org.org}/tokens`, {name: 'ci'}), 201)
  await rename(template, house.as(secret), 'Companies of the month')
  t.like(await readApproval(template, author), {version: 2, isAuthor: true})
  t.like(await author('POST', `${template}/approve`, {version: 2}), isRefused(403, 'SELF_APPROVAL'))
  t.like(await readApproval(template, other), {isAuthor: false})
  await ok(other('POST', `${template}/approve`, {version: 2}), 200)
})

test.serial('an approval covers neither a person who starts the import, nor flows that differ from the approved ones', async t => {
  host.serve(accountRows(4, 'Sd-'))
  const {template, path} = await makeSchedule(org, host)
  await ok((await join('admin'))('POST', `${template}/approve`, {version: 1}), 200)
  const done = await fire(org, path)
  t.like(done, {outcome: 'done'})
  const imported = `/orgs/${org.org}/imports/${done.importId}`
  t.like(await org.call('POST', `${imported}/runs`, {}), isRefused(409, 'APPROVAL_REQUIRED'))

  // The content of a template may change without a new version, for example by a restored backup. That template differs from what was approved.
  await house.hot.query(`update templates set flows = jsonb_set(flows, '{0,fields}', (flows #> '{0,fields}') - -1) where id = $1`, [
    template.split('/').at(-1),
  ])
  t.like(await readApproval(template), {version: 1, isApproved: false, approved: {version: 1}})
  host.serve(accountRows(4, 'Se-'))
  t.like(await fire(org, path), {outcome: 'failed', reason: {code: 'APPROVAL_REQUIRED'}})
})
