import {randomBytes} from 'node:crypto'
import {readdirSync, readlinkSync} from 'node:fs'
import {mkdtemp, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {text} from 'node:stream/consumers'
import test, {type ExecutionContext} from 'ava'
import type {BulkReadStatus} from '../../../../shared/crm/bulk/bulk-read.ts'
import {openStorage} from '../../../../shared/storage/storage.ts'
import {sql} from '../../../../sql/database.ts'
import {listExportParts} from '../../../../sql/match-exports.ts'
import type {Context} from '../../../../workers/engine/context.ts'
import {type ExportedPage, ExportUnusable, exportModule} from '../../../../workers/engine/match-snapshot/export-module.ts'
import type {CompiledFlow} from '../../../../workers/engine/model.ts'
import {RunPaused} from '../../../../workers/engine/run-endings.ts'
import {beginRun, openLedger} from '../../../support/running.ts'
import {until} from '../../../support/until.ts'
import {leaseOf} from '../fixtures.ts'

let here: Awaited<ReturnType<typeof openLedger>>
let directory: string
test.before(async () => {
  here = await openLedger('export_module')
  directory = await mkdtemp(join(tmpdir(), 'export-module-'))
})
test.after.always(async () => {
  await here?.close()
  await rm(directory, {recursive: true, force: true})
})

const flow = {no: 1, module: {apiName: 'Accounts', no: 1}} as CompiledFlow

/** Opens an export of `pages` pages. `statusOf` replaces the status of a job. */
const openExport = async (pages: number, statusOf: (job: string) => BulkReadStatus | null = () => null) => {
  const {id, run} = await beginRun(here)
  const calls: string[] = []
  const bulkRead = {
    recordsPerJob: 200_000,
    async start(wanted: object) {
      const job = 'pageToken' in wanted ? String(wanted.pageToken) : '1'
      calls.push(`start ${job}`)
      return job
    },
    async check(job: string) {
      const next = Number(job) < pages ? `${Number(job) + 1}` : null
      return statusOf(job) ?? {state: 'done', count: 1, nextPageToken: next}
    },
    async download(job: string, receive: (bytes: AsyncIterable<Uint8Array>) => Promise<unknown>) {
      calls.push(`download ${job}`)
      await receive(bytesOf(`page ${job}`))
    },
  }
  const keys = [{id: 'k', key: randomBytes(32)}]
  const exported = ({signal} = new AbortController(), folder = directory) => {
    const ctx = {
      db: here.db,
      run: {id, no: run, org: 'org_test'},
      storage: openStorage({directory: folder}),
      signal,
      lease: leaseOf(signal),
      config: {SECRETS_KEYS: keys},
      connection: {bulkRead, connector: {id: 'none'}},
      slots: {small: {take: async () => {}, give: () => {}}},
    }
    return exportModule(ctx as unknown as Context, flow, ['Account_Number'])
  }
  return {calls, exported, parts: () => listExportParts(here.db, {run, flow: 1})}
}

async function* bytesOf(page: string) {
  yield Buffer.from(page)
}

const readPage = async ({file: {object, close}}: ExportedPage) => {
  const {storage, key} = object
  const read = await text(await storage.readRange(key, {start: 0, end: await storage.size(key)}))
  await close()
  return read
}

/** Counts the decrypted files that this process has open. */
const countOpenFiles = () =>
  readdirSync('/proc/self/fd').filter(fd => {
    try {
      return /lading-[\w-]+ \(deleted\)$/.test(readlinkSync(`/proc/self/fd/${fd}`))
    } catch {
      return false
    }
  }).length

const assertClosed = async (t: ExecutionContext) => {
  await until(
    async () => countOpenFiles(),
    count => count === 0,
  )
  t.pass()
}

const running = (job: string): BulkReadStatus | null => (job === '2' ? {state: 'running'} : null)

test.serial('only the next page is exported and decrypted while the caller reads a page', async t => {
  const {calls, exported} = await openExport(4)
  const pages = exported()
  const first = await pages.next()
  await until(
    async () => countOpenFiles(),
    count => count === 2,
  )
  t.deepEqual(calls, ['start 1', 'download 1', 'start 2', 'download 2'])
  const read = [await readPage(first.value!)]
  for await (const page of pages) read.push(await readPage(page))
  t.deepEqual(read, ['page 1', 'page 2', 'page 3', 'page 4'])
  await assertClosed(t)
})

test.serial('a caller that stops early waits for no job, and every file is closed', async t => {
  for (const statusOf of [running, () => null]) {
    const {exported} = await openExport(4, statusOf)
    for await (const page of exported()) {
      await page.file.close()
      break
    }
    await assertClosed(t)
  }
})

test.serial('a page that cannot be exported fails the export once the page before it was read', async t => {
  const failing = (job: string): BulkReadStatus | null => (job === '2' ? {state: 'failed', crm: {} as never} : null)
  const {exported, parts} = await openExport(3, failing)
  const pages = exported()
  t.is(await readPage((await pages.next()).value!), 'page 1')
  await t.throwsAsync(pages.next(), {instanceOf: ExportUnusable})
  await assertClosed(t)
  t.deepEqual(
    (await parts()).map(({job, key}) => [job, key !== null]),
    [
      ['1', true],
      ['2', false],
    ],
  )
})

test.serial('a worker that stops ends the wait for the next page, and its successor continues with the same jobs', async t => {
  let isStuck = true
  const {calls, exported, parts} = await openExport(2, job => (isStuck ? running(job) : null))
  const stopping = new AbortController()
  const pages = exported(stopping)
  t.is(await readPage((await pages.next()).value!), 'page 1')
  await until(parts, list => list.length === 2)
  const next = pages.next()
  stopping.abort()
  await t.throwsAsync(next, {name: 'AbortError'})
  await assertClosed(t)
  isStuck = false
  const read: string[] = []
  for await (const page of exported()) read.push(await readPage(page))
  t.deepEqual(read, ['page 1', 'page 2'])
  t.deepEqual(calls, ['start 1', 'download 1', 'start 2', 'download 2'])
})

test.serial('a run pauses if the storage of its export fails, and an export whose file is gone is unusable', async t => {
  const blocked = join(directory, 'blocked')
  await writeFile(blocked, 'a file, so that it can hold no objects')
  const {calls, exported} = await openExport(1)
  await t.throwsAsync(exported(undefined, blocked).next(), {instanceOf: RunPaused, message: /storage is unavailable/})
  t.is(await readPage((await exported().next()).value!), 'page 1')
  await t.throwsAsync(exported(undefined, blocked).next(), {instanceOf: RunPaused})
  await t.throwsAsync(exported(undefined, join(directory, 'empty')).next(), {instanceOf: ExportUnusable})
  t.deepEqual(calls, ['start 1', 'download 1', 'download 1'], 'the export is not started again')
  await assertClosed(t)
})

test.serial('the clock of the database measures the age of an export, because owners of the run may have other clocks', async t => {
  const {exported} = await openExport(1)
  const readAge = async () => {
    for await (const {askedMs, file} of exported()) {
      await file.close()
      return Date.now() - askedMs
    }
    throw new Error('The export has no page')
  }
  const hourMs = 3_600_000
  t.true((await readAge()) < hourMs)
  await here.db.query(sql.unsafe`insert into clock_offset (ahead) values ('1 hour')`)
  const age = await readAge()
  t.true(age >= hourMs && age < 2 * hourMs, String(age))
})
