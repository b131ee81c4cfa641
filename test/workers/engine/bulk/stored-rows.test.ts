import {randomBytes} from 'node:crypto'
import {mkdtemp, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import test from 'ava'
import {openStorage} from '../../../../shared/storage/storage.ts'
import {insertBulkJob, listOpenBulkJobs} from '../../../../sql/bulk-jobs.ts'
import {admit} from '../../../../sql/ledger.ts'
import {readStoredRows, storeRows} from '../../../../workers/engine/bulk/stored-rows.ts'
import type {Context} from '../../../../workers/engine/context.ts'
import {RunPaused} from '../../../../workers/engine/run-endings.ts'
import {beginRun, intent, openLedger} from '../../../support/running.ts'
import {row} from '../fixtures.ts'

let here: Awaited<ReturnType<typeof openLedger>>
let directory: string
test.before(async () => {
  here = await openLedger('stored_rows')
  directory = await mkdtemp(join(tmpdir(), 'stored-rows-'))
})
test.after.always(async () => {
  await here?.close()
  await rm(directory, {recursive: true, force: true})
})

test('a run pauses if the storage fails while the rows of a bulk job are stored or read', async t => {
  const {id, run, fence} = await beginRun(here)
  const secret = randomBytes(32)
  const no = (await insertBulkJob(here.db, {run, fence, flow: 1, operation: 'create', fileName: 'a.csv', rows: 1, secret}))!
  await admit(here.hot, {...intent({run, fence}, 1, 1, 1), bulkJob: no})
  const keys = [{id: 'k', key: randomBytes(32)}]
  const within = (folder: string) =>
    ({
      db: here.db,
      config: {SECRETS_KEYS: keys},
      run: {id, no: run, org: 'org_test'},
      storage: openStorage({directory: folder}),
      lease: {fence, lost: new AbortController().signal},
    }) as unknown as Context
  const blocked = join(directory, 'blocked')
  await writeFile(blocked, 'a file, so that it can hold no objects')
  const ops = [{row: row(1), target: null}]
  await t.throwsAsync(storeRows(within(blocked), no, ops), {instanceOf: RunPaused, message: /storage is unavailable/})
  await storeRows(within(directory), no, ops)
  const [job] = await listOpenBulkJobs(here.db, run)
  await t.throwsAsync(readStoredRows(within(blocked), job!), {instanceOf: RunPaused, message: /storage is unavailable/})
  t.deepEqual(await readStoredRows(within(directory), job!), ops)
})
