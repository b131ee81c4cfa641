import {mkdtemp, readdir, rename, rm, truncate, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import test, {type ExecutionContext} from 'ava'
import {z} from 'zod'
import {Refusal} from '../../shared/errors.ts'
import {readEntries} from '../../shared/runs/log.ts'
import {openStorage} from '../../shared/storage/storage.ts'
import {openLog} from '../../shared/telemetry/log.ts'
import {sql} from '../../sql/database.ts'
import {settle} from '../../sql/ledger.ts'
import {listLog} from '../../sql/run-log.ts'
import {archiveAll, maintainSegments} from '../../workers/archive.ts'
import {beginRun, created, openLedger, settlement} from '../support/running.ts'

const log = openLog('test', 'silent')
const drain = new AbortController().signal

/** Opens a separate database and storage with one ended run of `entries` log entries. */
const open = async (t: ExecutionContext, {entries}: {entries: number}) => {
  const ledger = await openLedger(t.title)
  const directory = await mkdtemp(join(tmpdir(), 'lading-archive-'))
  t.teardown(async () => {
    await ledger.close()
    await rm(directory, {recursive: true, force: true})
    await rm(`${directory}-away`, {recursive: true, force: true})
  })
  const {db, hot} = ledger
  const storage = openStorage({directory})
  const begun = await beginRun(ledger)
  for (let from = 0, no = 1; from < entries; from += 5_000, no++) {
    const some = Array.from({length: Math.min(5_000, entries - from)}, (_, n) =>
      created(from + n + 1, {message: n % 7 ? null : 'Schloß "x"\n'}),
    )
    await settle(hot, settlement(begun, no, {log: some}))
  }
  await db.query(sql.unsafe`update runs set state = 'ended' where run_no = ${begun.run}`)
  const tools = {db, hot, storage, log, drain}
  const files = async () => (await readdir(directory, {recursive: true})).filter(name => name.endsWith('.gz')).toSorted()
  const standing = () =>
    db.one(sql.type(Standing)`
      select records_at as "recordsAt", archived, archive_tries as tries,
        round(extract(epoch from archive_after - lading_now()))::int as "waits",
        (select count(*) from log_entries l where l.run_no = r.run_no) as here, (select count(*) from segments s where s.run_no = r.run_no) as segments,
        (select count(*) from loose_objects) as loose
      from runs r where run_no = ${begun.run}`)
  const ahead = (interval: string) =>
    db.query(sql.unsafe`
      insert into clock_offset (ahead) values (${interval}::text::interval)
      on conflict (only_row) do update set ahead = clock_offset.ahead + excluded.ahead`)
  /** Makes storage unavailable, as an unmounted disk would be. */
  const breakStorage = async () => {
    await rename(directory, `${directory}-away`)
    await writeFile(directory, '')
  }
  const mendStorage = async () => {
    await rm(directory)
    await rename(`${directory}-away`, directory)
  }
  return {...begun, db, hot, storage, tools, directory, files, standing, ahead, breakStorage, mendStorage}
}

const Standing = z.object({
  recordsAt: z.string(),
  archived: z.boolean(),
  tries: z.number(),
  waits: z.number().nullable(),
  here: z.number(),
  segments: z.number(),
  loose: z.number(),
})
const moved = {recordsAt: 'storage', archived: true, waits: null, here: 0, loose: 0}

/** Reads the whole log in pages of one size. */
const readAll = async (here: Awaited<ReturnType<typeof open>>, limit: number) => {
  const all = []
  for (let after = 0; ; ) {
    const page = await readEntries(here, {run: here.run, after, limit})
    all.push(...page)
    if (page.length < limit) return all
    after = page.at(-1)!.seq
  }
}

test('the archived log of a run reads exactly as it did from the database, at any page size', async t => {
  const here = await open(t, {entries: 25_001})
  const before = await listLog(here.db, {run: here.run, after: 0, limit: 100_000})
  t.deepEqual(await readAll(here, 1_000), before)
  await archiveAll(here.tools)
  t.like(await here.standing(), {...moved, segments: 3})
  t.is((await here.files()).length, 3)
  for (const limit of [1, 499, 1_001, 10_000, 10_001, 30_000]) {
    const after = limit === 1 ? 24_990 : 0
    const read = []
    for (let at = after; ; ) {
      const page = await readEntries(here, {run: here.run, after: at, limit})
      read.push(...page)
      if (page.length < limit) break
      at = page.at(-1)!.seq
    }
    t.deepEqual(read, before.slice(after), `pages of ${limit}`)
  }
  t.deepEqual(await readEntries(here, {run: here.run, after: 25_001, limit: 10}), [])
})

test('a run that wrote nothing is archived too', async t => {
  const here = await open(t, {entries: 0})
  await archiveAll(here.tools)
  t.like(await here.standing(), {...moved, segments: 0})
  t.deepEqual(await readAll(here, 10), [])
})

test('a run that has not ended is not archived', async t => {
  const here = await open(t, {entries: 10})
  await here.db.query(sql.unsafe`update runs set state = 'closing' where run_no = ${here.run}`)
  await archiveAll(here.tools)
  t.like(await here.standing(), {recordsAt: 'db', tries: 0, here: 10})
})

test('while storage fails, the log stays readable and archiving is retried with growing delays', async t => {
  const here = await open(t, {entries: 12_000})
  await here.breakStorage()
  for (const waits of [15, 30, 60]) {
    await archiveAll(here.tools)
    const standing = await here.standing()
    t.like(standing, {recordsAt: 'db', here: 12_000, segments: 0})
    t.true(standing.waits! > waits / 2 && standing.waits! <= waits, `${standing.waits} of ${waits} s`)
    await archiveAll(here.tools)
    t.is((await readAll(here, 1_000)).length, 12_000)
    await here.ahead(`${waits + 1} seconds`)
  }
  t.is((await here.standing()).tries, 3)
  await here.mendStorage()
  await archiveAll(here.tools)
  t.like(await here.standing(), {recordsAt: 'storage', archived: true, tries: 4, here: 0, segments: 2})
  t.is((await readAll(here, 1_000)).length, 12_000)
})

test('readers that page through a log while it is archived, with three storage failures, see each entry once', async t => {
  const here = await open(t, {entries: 30_000})
  let isMoved = false
  const readers = Array.from({length: 3}, async (_, reader) => {
    const rounds = []
    do {
      const seqs = []
      for (let after = 0; ; after = seqs.at(-1)!) {
        const page = await readEntries(here, {run: here.run, after, limit: 700 + reader})
        seqs.push(...page.map(({seq}) => seq))
        if (page.length < 700 + reader) break
      }
      rounds.push(seqs)
    } while (!isMoved)
    return rounds
  })
  for (let failure = 0; failure < 3; failure++) {
    let puts = 0
    const storage = {
      ...here.storage,
      put: (key: string, stream: AsyncIterable<Uint8Array>) =>
        ++puts > failure ? Promise.reject(new Error('no space left')) : here.storage.put(key, stream),
    }
    await archiveAll({...here.tools, storage})
    await here.ahead('2 hours')
  }
  await archiveAll(here.tools)
  isMoved = true
  t.like(await here.standing(), {recordsAt: 'storage', here: 0, tries: 4})
  const whole = Array.from({length: 30_000}, (_, at) => at + 1)
  for (const rounds of await Promise.all(readers)) for (const seqs of rounds) t.deepEqual(seqs, whole)
})

test('a stored object that reads back truncated is not relied on: the log stays in the database', async t => {
  const here = await open(t, {entries: 100})
  const storage = {
    ...here.storage,
    put: async (key: string, stream: AsyncIterable<Uint8Array>) => {
      const bytes = await here.storage.put(key, stream)
      await truncate(join(here.directory, key), bytes - 1)
      return bytes
    },
  }
  await archiveAll({...here.tools, storage})
  t.like(await here.standing(), {recordsAt: 'db', here: 100, segments: 0, loose: 1})
})

test('a log with a gap in its sequence is not archived', async t => {
  const here = await open(t, {entries: 2_000})
  await here.db.query(sql.unsafe`delete from log_batches where run_no = ${here.run} and first_seq = 1001`)
  await archiveAll(here.tools)
  t.like(await here.standing(), {recordsAt: 'db', here: 1_977, segments: 0, tries: 1})
})

test('a run that two workers archive at the same time is archived once', async t => {
  const here = await open(t, {entries: 15_000})
  const free = () => here.db.query(sql.unsafe`update runs set archive_after = null where run_no = ${here.run}`)
  let second: Promise<void> | undefined
  const storage = {
    ...here.storage,
    put: async (key: string, stream: AsyncIterable<Uint8Array>) => {
      if (!second) {
        await free()
        second = archiveAll(here.tools)
      }
      return here.storage.put(key, stream)
    },
  }
  await archiveAll({...here.tools, storage})
  await second
  const standing = await here.standing()
  t.like(standing, {recordsAt: 'storage', archived: true, here: 0, segments: 2, tries: 2})
  t.is((await readAll(here, 1_000)).length, 15_000)
  t.true(standing.loose === 1 || standing.loose === 2, 'the loser had stored one object or both')
  t.is((await here.files()).length, 2 + standing.loose, 'they lie about until they are swept')
})

test('unreadable archived records are refused as retryable; records of another storage or a newer build are refused for good', async t => {
  const here = await open(t, {entries: 20})
  await archiveAll(here.tools)
  const refused = () => t.throwsAsync(readEntries(here, {run: here.run, after: 0, limit: 10}), {instanceOf: Refusal})
  await here.breakStorage()
  t.like(await refused(), {code: 'RECORDS_MOVING', status: 503, extra: {retryAfterMs: 60_000}})
  await here.mendStorage()
  t.is((await readAll(here, 7)).length, 20)
  const [file] = await here.files()
  await truncate(join(here.directory, file!), 100)
  t.like(await refused(), {code: 'RECORDS_MOVING', status: 503})
  await here.db.query(sql.unsafe`update segments set storage = 's3'`)
  t.like(await refused(), {code: 'NOT_CONFIGURED', status: 503})
  await here.db.query(sql.unsafe`update segments set format = 99`)
  t.like(await refused(), {code: 'FROM_FUTURE', status: 409})
})

test('loose objects are swept from storage after a day, and so are segments whose run was deleted', async t => {
  const here = await open(t, {entries: 20})
  await here.storage.put(
    'org_1/runs/run_1/orphan',
    (async function* () {
      yield Buffer.from('x')
    })(),
  )
  await here.db.query(sql.unsafe`insert into loose_objects (key) values ('org_1/runs/run_1/orphan'), ('org_1/runs/run_1/never-stored')`)
  await archiveAll(here.tools)
  await here.ahead('23 hours')
  await maintainSegments(here.tools)
  t.true(await here.storage.exists('org_1/runs/run_1/orphan'))
  await here.ahead('2 hours')
  await maintainSegments(here.tools)
  t.false(await here.storage.exists('org_1/runs/run_1/orphan'))
  t.like([await here.standing(), await here.files()], [{loose: 0}, {length: 1}])
  await here.db.query(sql.unsafe`delete from runs where run_no = ${here.run}`)
  await maintainSegments(here.tools)
  t.is((await here.files()).length, 1)
  await here.ahead('25 hours')
  await maintainSegments(here.tools)
  t.is((await here.files()).length, 0)
})
