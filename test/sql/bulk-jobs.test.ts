import {randomBytes} from 'node:crypto'
import test from 'ava'
import {z} from 'zod'
import {
  endEmptyBulkJobs,
  extendBulkDeadline,
  findBulkHint,
  insertBulkJob,
  nameBulkRows,
  setDone,
  setSent,
  setStarted,
  setUnsent,
  setUploaded,
} from '../../sql/bulk-jobs.ts'
import {sql} from '../../sql/database.ts'
import {admit} from '../../sql/ledger.ts'
import {takeLease, writeStop} from '../../sql/run-heads.ts'
import {pauseRun} from '../../sql/runs.ts'
import {listUnownedRuns} from '../../sql/unowned-runs.ts'
import {beginRun, expireLease, intent, type Ledger, openLedger} from '../support/running.ts'

let ledger: Ledger & {close(): Promise<void>}
test.before(async () => {
  ledger = await openLedger('bulk_jobs')
})
test.after.always(() => ledger.close())

const aJob = () => ({flow: 1, operation: 'update' as const, fileName: 'a.csv', rows: 1, secret: randomBytes(32)})
const stateOf = (run: number) =>
  ledger.db.any(sql.unsafe`select state, sent_at is not null as "isSent", job, key, left_at from bulk_jobs where run_no = ${run}`)

/** Begins a run with a requested job, and lets a second owner take over the run. Returns the fences of both owners. */
const replaceOwner = async () => {
  const {db} = ledger
  const {run, fence} = await beginRun(ledger)
  const no = (await insertBulkJob(db, {run, fence, ...aJob()}))!
  await setSent(db, {run, no, fence})
  await db.query(sql.unsafe`update run_heads set lease_until = lading_now() - interval '1 second' where run_no = ${run}`)
  const head = await takeLease(db, {run, owner: 'next', seconds: 60})
  return {run, no, fence, next: head!.fence}
}

test('an owner that lost the run changes none of its jobs', async t => {
  const {db, hot} = ledger
  const {run, no, fence, next} = await replaceOwner()
  const before = await stateOf(run)
  const lost = {run, no, fence}
  t.is(await insertBulkJob(db, {run, fence, ...aJob()}), null)
  t.false(await setUnsent(db, lost))
  t.false(await setSent(db, lost))
  t.false(await setUploaded(db, {...lost, fileId: '1'}))
  t.false(await setStarted(db, {...lost, job: '1'}))
  t.false(await nameBulkRows(db, {...lost, key: 'k', sealed: 's', rows: 1}))
  t.false(await setDone(db, {...lost, isAbandoned: false}))
  await endEmptyBulkJobs(db, lost)
  t.false(await extendBulkDeadline(hot, {...lost, seconds: 1}))
  t.deepEqual(await stateOf(run), before)
  t.true(await setUnsent(db, {run, no, fence: next}))
})

test('the time of a job that was not requested counts from its composition, so that no wait for it is endless', async t => {
  const {db} = ledger
  const {run, no, next} = await replaceOwner()
  await db.query(sql.unsafe`update bulk_jobs set composed_at = lading_now() - interval '2 hours' where run_no = ${run}`)
  t.true((await findBulkHint(db, {run, no})).seconds < 60)
  await setUnsent(db, {run, no, fence: next})
  t.true((await findBulkHint(db, {run, no})).seconds > 7_000)
})

test('a job with an id whose rows are not in flight is marked as left when its run ends; one without an id is not', async t => {
  const {db} = ledger
  const {run, fence} = await beginRun(ledger)
  for (const job of ['7', null]) {
    const no = (await insertBulkJob(db, {run, fence, ...aJob()}))!
    if (job) await setStarted(db, {run, no, fence, job})
  }
  await endEmptyBulkJobs(db, {run, fence})
  const ended = (await stateOf(run)) as {state: string; job: string | null; left_at: number | null}[]
  t.deepEqual(
    ended.map(({state, job, left_at: left}) => [state, job, left !== null]).sort(),
    [
      ['done', '7', true],
      ['done', null, false],
    ].sort(),
  )
})

test('a stopped run that pauses while it reads the results of a bulk job continues when its pause ends', async t => {
  const {db, hot} = ledger
  const {id, run, fence} = await beginRun(ledger)
  const isDue = async () => (await listUnownedRuns(db, {limit: 100})).some(one => one.id === id)
  const setPause = (code: string) =>
    db.query(sql.type(z.object({}))`update runs set pause = ${sql.jsonb({code, message: ''})} where run_no = ${run}`)
  await db.query(sql.unsafe`update runs set engine = 'worker' where run_no = ${run}`)
  const bulkJob = (await insertBulkJob(db, {run, fence, ...aJob()}))!
  await admit(hot, {...intent({run, fence}, 1, 1, 1), bulkJob})
  await writeStop(db, {run, stop: {stopped: 'CANCELLED', message: 'A user cancelled the run'}})
  await pauseRun(db, {no: run, fence, pause: {code: 'CRM_UNAVAILABLE', message: ''}, seconds: 60})
  await expireLease(ledger, run)
  t.false(await isDue())
  await setPause('BULK_JOB_OPEN')
  t.true(await isDue(), 'the stop ends the wait for the job')
  await setPause('RATE_LIMITED')
  await db.query(sql.unsafe`update runs set resume_at = lading_now() - interval '1 second' where run_no = ${run}`)
  t.true(await isDue())
  await db.query(sql.unsafe`update runs set resume_at = lading_now() + interval '1 minute' where run_no = ${run}`)
  await db.query(sql.unsafe`delete from sends where run_no = ${run}`)
  t.true(await isDue(), 'a stopped run without a bulk job ends at once')
})
