import {readdirSync} from 'node:fs'
import {join} from 'node:path'
import {Readable} from 'node:stream'
import {accountRows, accounts, type Org, ok, runImport} from './importing.ts'
import {makeTemplate, seldom} from './schedules.ts'
import type {TestDeployment} from './test-deployment.ts'
import {openUpload} from './uploads.ts'

/** Fills an org with data besides imports. Returns the ids of the new items, which must not be found after the erasure. */
export const fillMore = async (house: TestDeployment, filled: Org, run: string): Promise<string[]> => {
  const {call, org} = filled
  const of = await makeTemplate(filled)
  const body = {name: 'Erased nightly', ...seldom, source: {kind: 'https', url: 'https://files.example/erased.csv'}}
  const {schedule} = await ok(call('POST', `${of}/schedules`, body), 201)
  const {firing} = await ok(call('POST', `${of}/schedules/${schedule.id}/run`, {}), 202)
  const {webhook} = await ok(call('POST', `/orgs/${org}/webhooks`, {url: 'https://receiver.example/erased'}), 201)
  const {delivery} = await ok(call('POST', `/orgs/${org}/webhooks/${webhook.id}/test`, {}), 202)
  await ok(call('PUT', `/orgs/${org}/notices`, {endpoints: [webhook.id]}), 200)
  const {imports} = await ok(call('GET', `/orgs/${org}/imports`), 200)
  const {upload, sendRest} = await openUpload(call, `/orgs/${org}/imports/${imports[0].id}`, {bytes: Buffer.from('Erased')})
  await sendRest()
  const key = `${org}/runs/${run}/0-1-erased.ndjson.gz`
  await house.storage.put(key, Readable.from([Buffer.from('Erased')]))
  await house.hot.query(
    `insert into segments (run_no, list, first, last, rows, bytes, sha256, format, storage, key)
    select run_no, 0, 1, 1, 1, 6, '', 1, 'folder', $2 from runs where id = $1`,
    [run, key],
  )
  await fillSealed(house, org, run)
  await house.hot.query(`insert into retention_failures (day, org_id, step, message) values ('2020-01-01', $1, 'runs', 'Erased')`, [org])
  await house.hot.query(`insert into ai_usage (org_id, period_start, day, feature) values ($1, now(), now(), 'chat')`, [org])
  return [schedule.id, firing.id, webhook.id, delivery.id, upload.id, of.split('/').at(-1)!]
}

/** Runs an import whose values the CRM shortens. Returns the number of stored files with values that were read back. */
export const importVerified = async ({crm, config}: TestDeployment, org: Org): Promise<number> => {
  crm.setSwitches({rewrites: [{module: 'Accounts', how: 'cut', field: 'Account_Name', length: 5}]})
  const {run} = await runImport(org, {csv: accountRows(20, 'Erased-'), flow: accounts, start: {verify: 'all'}})
  crm.setSwitches({rewrites: []})
  return readdirSync(join(config.STORAGE_DIR, org.org, 'runs', run.id)).filter(name => name.startsWith('verify-')).length
}

/** Adds the files and rows of an open bulk job, an export and a verification. */
const fillSealed = async ({storage, hot}: TestDeployment, org: string, run: string) => {
  const [rows, file] = ['bulk', 'match'].map(name => `${org}/runs/${run}/${name}-erased.sealed`) as [string, string]
  for (const key of [rows, file]) await storage.put(key, Readable.from([Buffer.from('Erased')]))
  const insert = (into: string, values: string, ...more: string[]) =>
    hot.query(`insert into ${into} select run_no, ${values} from runs where id = $1`, [run, ...more])
  await insert(
    'bulk_jobs (run_no, job_no, flow_no, operation, file_name, rows, secret, key, sealed)',
    `1, 1, 'create', 'Erased', 1, '', $2, 'Erased'`,
    rows,
  )
  await insert('match_exports (run_no, flow_no, part, job, asked_at, key, sealed)', `1, 0, 'Erased', now(), $2, 'Erased'`, file)
  await insert('verify_queue (run_no, fence, settle_no, records, rows, sealed)', `1, 1, '{Erased}', 1, 'Erased'`)
  await insert('verify_keys (run_no, sealed)', `'Erased'`)
}

/** The tables that these tests fill, besides those that every org fills. */
export const filled = [
  'log_batches',
  'chain_rows',
  'run_snapshots',
  'sources',
  'segments',
  'changes',
  'invitations',
  'retention_failures',
  'templates',
  'schedules',
  'firings',
  'webhook_endpoints',
  'notices',
  'notice_rules',
  'deliveries',
  'ai_usage',
  'uploads',
  'upload_parts',
  'bulk_jobs',
  'match_exports',
  'verify_queue',
  'verify_keys',
]
