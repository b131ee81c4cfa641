import {once} from 'node:events'
import {Readable} from 'node:stream'
import {buffer} from 'node:stream/consumers'
import {gunzipSync, gzipSync} from 'node:zlib'
import test from 'ava'
import {z} from 'zod'
import {sql} from '../../sql/database.ts'
import {STEP_LIST} from '../../sql/segments.ts'
import {accountRows, accounts, type Org, ok, openOrg, prepareImport, readLog, untilEnded} from '../support/importing.ts'
import {assertAccounted} from '../support/oracle.ts'
import {applyPlan, makePlan, rowsOf} from '../support/sealed-plans.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {endWorker, killAt, openWorkers} from '../support/worker-process.ts'

let here: TestDeployment
let org: Org

test.before(async t => {
  here = await startTestDeployment(t, {
    workers: ['discovery'],
    environment: {LEASE_SECONDS: '1.5', CRM_TIMEOUT_SECONDS: '3', CRM_LAG_SECONDS: '1'},
  })
  org = await openOrg(here)
})

const startWorker = openWorkers(() => here.config)
const rows = 450

const list = (prefix: string) =>
  here.crm.records('example', 'Accounts').filter(({Account_Number: number}) => String(number).startsWith(prefix))
const make = (records: object[]) => here.crm.create('example', 'Accounts', records as any, {as: 'ben@example.org'})
const edit = (id: unknown, values: object) => here.crm.update('example', 'Accounts', [{id: String(id), ...values}], {as: 'ben@example.org'})

/** Makes a plan in which every second row updates a record. Then changes or creates the record of every fifth row. */
const planAndEdit = async (prefix: string, count = rows) => {
  make(Array.from({length: count / 2}, (_, n) => ({Account_Name: 'Old', Account_Number: `${prefix}${2 * n + 1}`, Billing_City: 'Old'})))
  const {path} = await prepareImport(org, {csv: accountRows(count, prefix), flow: accounts})
  const first = startWorker()
  const dry = await makePlan(org, path)
  await endWorker(first)
  here.crm.clock.advance(3_000)
  const there = new Map(list(prefix).map(({id, Account_Number: number}) => [String(number), id]))
  const stale = Array.from({length: Math.floor(count / 5)}, (_, n) => 5 * n + 5)
  for (const row of stale) {
    const id = there.get(`${prefix}${row}`)
    if (id) edit(id, {Billing_City: 'Ben'})
    else make([{Account_Name: 'Ben', Account_Number: `${prefix}${row}`, Billing_City: 'Ben'}])
  }
  return {path, dry, stale}
}

for (const point of ['after_intent:2', 'after_send:2', 'after_send:4', 'before_settle:3', 'in_close'])
  test.serial(`a run that is killed at ${point} applies exactly the rest of its plan`, async t => {
    const prefix = `K${point.replace(':', '')}-`
    const {path, dry, stale} = await planAndEdit(prefix)
    const {run} = await ok(org.call('POST', `${path}/runs`, {planOf: dry.run.id}), 202)
    await killAt(startWorker, point)
    const last = startWorker()
    const ended = await untilEnded(org.call, `${path}/runs/${run.id}`)
    await endWorker(last)
    const {log} = await assertAccounted(here, {org, path, run: ended, rows})
    t.deepEqual(
      rowsOf(log, ({code}) => code === 'PLAN_STALE'),
      stale,
    )
    const applied = rowsOf(log, ({outcome}) => outcome === 'created' || outcome === 'updated')
    t.deepEqual(
      applied,
      rowsOf(dry.log, ({outcome}) => outcome === 'planned').filter(row => !stale.includes(row)),
    )
    t.is(list(prefix).length, rows)
    const cities = new Map(list(prefix).map(({Account_Number: number, Billing_City: city}) => [number, city]))
    t.true(stale.every(row => cities.get(`${prefix}${row}`) === 'Ben'))
    t.true(applied.every(row => cities.get(`${prefix}${row}`) === `Town ${(row - 1) % 7}`))
  })

test.serial('an update that was lost with its worker and then changed by a person stays unanswered and is not sent again', async t => {
  make([{Account_Name: 'Old', Account_Number: 'Kl-1', Billing_City: 'Old'}])
  const {path} = await prepareImport(org, {csv: accountRows(1, 'Kl-'), flow: accounts})
  const first = startWorker()
  const dry = await makePlan(org, path)
  await endWorker(first)
  const {run} = await ok(org.call('POST', `${path}/runs`, {planOf: dry.run.id}), 202)
  here.crm.clock.advance(3_000)
  await once(startWorker({FAULT_POINT: 'after_send:1'}), 'exit')
  edit(list('Kl-')[0]!.id, {Billing_City: 'Ben'})
  const last = startWorker()
  const ended = await untilEnded(org.call, `${path}/runs/${run.id}`)
  await endWorker(last)
  t.like(ended.counts.Accounts, {unanswered: 1, skipped: 0, updated: 0})
  t.is((await readLog(org.call, `${path}/runs/${run.id}`)).at(-1).code, 'PLAN_STALE')
  t.is(list('Kl-')[0]!.Billing_City, 'Ben')
})

const Stored = z.object({key: z.string(), first: z.number()})
const listStored = (id: string) =>
  here.db.any(sql.type(Stored)`
    select key, first from segments join runs using (run_no) where id = ${id} and list = ${STEP_LIST} order by first`)

test.serial(
  'a dry run that is killed while it stores its plan stores the whole plan, and a plan that was changed stops the run before its first row',
  async t => {
    const count = 2_500
    const {path} = await prepareImport(org, {csv: accountRows(count, 'Kt-'), flow: accounts})
    const {run: begun} = await ok(org.call('POST', `${path}/runs`, {dryRun: true}), 202)
    await killAt(startWorker, 'in_plan:2')
    const worker = startWorker()
    await untilEnded(org.call, `${path}/runs/${begun.id}`)
    const {plan} = await ok(org.call('POST', `${path}/runs/${begun.id}/seal`), 200)
    t.like(plan, {rows: count, chunks: 3})
    const stored = await listStored(begun.id)
    t.deepEqual(
      stored.map(({first}) => first),
      [1, 1_001, 2_001],
    )
    const second = stored[1]!.key
    const original = await buffer(await here.storage.read(second))
    const changed = gunzipSync(original).toString().replace('"create"', '"update"')
    await here.storage.put(second, Readable.from([gzipSync(changed)]))
    const stopped = await applyPlan(org.call, path, begun.id)
    t.like(stopped, {stop: {stopped: 'PLAN_CHANGED'}, rowsWritten: 0})
    t.regex(stopped.stop.message, /Chunk 2 of the stored plan \(rows 1001 to 2000\)/)
    t.is(list('Kt-').length, 0)
    await here.storage.put(second, Readable.from([original]))
    const retry = await ok(org.call('POST', `${path}/runs`, {retryOf: stopped.id}), 202)
    t.like(await untilEnded(org.call, `${path}/runs/${retry.run.id}`), {stop: null, rowsWritten: count, planStale: 0})
    await endWorker(worker)
  },
)
