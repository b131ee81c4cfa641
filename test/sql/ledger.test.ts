import test from 'ava'
import {z} from 'zod'
import {disconnectConnector, insertConnector, setWritesPaused} from '../../sql/connectors.ts'
import {sql, sqlStateOf} from '../../sql/database.ts'
import {admit, GATE_SHUT, settle} from '../../sql/ledger.ts'
import {countAdmissions, findHead, lockHead, takeLease, writeStop} from '../../sql/run-heads.ts'
import {listLog} from '../../sql/run-log.ts'
import {findSend, listSends, moveDeadline} from '../../sql/sends.ts'
import {refreshStatistics} from '../../sql/statistics.ts'
import {beginRun, created, expireLease, intent, openLedger, readAll, settlement} from '../support/running.ts'
import {until} from '../support/until.ts'

let here: Awaited<ReturnType<typeof openLedger>>
test.before(async () => {
  here = await openLedger('ledger')
})
test.after.always(() => here?.close())

/** Asserts that the statement raises GATE_SHUT and changes no row of any table. */
const assertShut = async (
  t: {is(a: unknown, b: unknown, says?: string): void; deepEqual(a: unknown, b: unknown, says?: string): void},
  says: string,
  say: () => Promise<unknown>,
) => {
  const before = await readAll(here)
  const state = await say().then(() => 'done', sqlStateOf)
  t.is(state, GATE_SHUT, says)
  t.deepEqual(await readAll(here), before, `${says}: nothing changed`)
}

const logged = async (run: number) => {
  const entries = await listLog(here.db, {run, after: 0, limit: 100_000})
  return entries.map(({seq}) => seq)
}
const upTo = (count: number) => Array.from({length: count}, (_, n) => n + 1)

test.serial('twelve writers never exceed the row limit, and the count equals the admitted rows', async t => {
  const limit = 5_050
  const {run, fence} = await beginRun(here, {rowsLimit: limit})
  let batch = 0
  let row = 1
  const write = async (size: number): Promise<void> => {
    const from = row
    row += size
    const state = await admit(here.hot, intent({run, fence}, ++batch, from, size)).then(() => null, sqlStateOf)
    if (state === null) return write(size)
    if (state !== GATE_SHUT) throw new Error(`${state}`)
    if (size > 1) return write(Math.ceil(size / 2))
  }
  await Promise.all(Array.from({length: 12}, (_, n) => write(60 + n * 3)))
  const head = await findHead(here.db, run)
  const sent = (await listSends(here.db, run)).flatMap(({keys}) => keys)
  t.is(head!.counted, limit)
  t.is(await countAdmissions(here.db, run), limit)
  t.is(new Set(sent).size, limit)
  t.is(head!.nextBatch, Math.max(...(await listSends(here.db, run)).map(({batch}) => batch)) + 1)
})

test.serial('T1 changes nothing under a moved fence, a stop, an expired lease or a full row limit', async t => {
  const full = await beginRun(here, {rowsLimit: 2})
  await assertShut(t, 'no room', () => admit(here.hot, intent(full, 1, 1, 3)))
  const moved = await beginRun(here)
  await assertShut(t, 'another fence', () => admit(here.hot, intent({...moved, fence: moved.fence + 1}, 1, 1, 3)))
  const stopped = await beginRun(here)
  await writeStop(here.db, {run: stopped.run, stop: {stopped: 'CANCELLED', message: 'x'}})
  await assertShut(t, 'a stop', () => admit(here.hot, intent(stopped, 1, 1, 3)))
  const expired = await beginRun(here)
  await expireLease(here, expired.run)
  await assertShut(t, 'an expired lease', () => admit(here.hot, intent(expired, 1, 1, 3)))
})

test.serial('one T1 of several batches records each of them, or none', async t => {
  const {run, fence} = await beginRun(here, {rowsLimit: 6})
  const [one, two] = [intent({run, fence}, 1, 1, 3), intent({run, fence}, 2, 4, 2)]
  Object.assign(two.rows[0]!, {target: '"a\\b", c', digest: Buffer.alloc(16, 7), marks: Buffer.alloc(8, 7)})
  await admit(here.hot, one, {...two, flow: 2, module: 2, kind: 1})
  const sent = await listSends(here.db, run)
  t.like(sent[0], {batch: 1, flow: 1, module: 1, kind: 0, keys: ['f.1', 'f.2', 'f.3'], numbers: [1, 2, 3], targets: [null, null, null]})
  t.like(sent[1], {flow: 2, module: 2, kind: 1, keys: ['f.4', 'f.5'], targets: ['"a\\b", c', null]})
  t.like(sent[1], {digests: [Buffer.alloc(16, 7), null], marks: [Buffer.alloc(8, 7), null]})
  t.like(await findHead(here.db, run), {counted: 5, nextBatch: 3})
  await assertShut(t, 'room for one of two', () => admit(here.hot, intent({run, fence}, 3, 6, 1), intent({run, fence}, 4, 7, 1)))
})

test.serial('T1 and resending are refused while writes on the connection are paused, and once it is disconnected', async t => {
  const {run, fence} = await beginRun(here)
  const org = await here.db.oneFirst(sql.type(z.object({org: z.string()}))`select org_id as org from runs where run_no = ${run}`)
  const place = {dc: 'x', crmOrgId: 'x', apiDomain: 'x', crmUserId: 'x', crmUserName: 'x', scopes: [], person: null}
  await here.db.transaction(async tx => {
    await insertConnector(tx, {...place, id: 'con_gate', org, name: 'x'})
    await tx.query(sql.unsafe`update runs set connector_id = 'con_gate' where run_no = ${run}`)
  })
  const setPaused = (paused: boolean) => here.db.transaction(tx => setWritesPaused(tx, {org, id: 'con_gate', paused}))
  const mayGoAgain = () => moveDeadline(here.hot, {run, batches: [1], fence, answerSeconds: 10})
  await admit(here.hot, intent({run, fence}, 1, 1, 3))
  t.true(await mayGoAgain())
  await setPaused(true)
  await assertShut(t, 'a pause', () => admit(here.hot, intent({run, fence}, 2, 4, 3)))
  t.false(await mayGoAgain())
  await setPaused(false)
  t.true(await mayGoAgain())
  await admit(here.hot, intent({run, fence}, 2, 4, 3))
  await here.db.transaction(tx => disconnectConnector(tx, 'con_gate'))
  await assertShut(t, 'a connection that is over', () => admit(here.hot, intent({run, fence}, 3, 7, 3)))
  t.false(await mayGoAgain())
})

test.serial('a row that is sent again is counted once', async t => {
  const {run, fence} = await beginRun(here, {rowsLimit: 3})
  await admit(here.hot, intent({run, fence}, 1, 1, 3))
  const again = intent({run, fence}, 2, 1, 3)
  await admit(here.hot, {...again, rows: again.rows.map(row => ({...row, attempt: 2}))})
  t.is((await findHead(here.db, run))!.counted, 3)
  t.is(await countAdmissions(here.db, run), 3)
})

test.serial('T2 changes nothing under an expired lease, a moved fence, or for a missing batch', async t => {
  const {run, fence} = await beginRun(here)
  await admit(here.hot, intent({run, fence}, 1, 1, 2))
  const settled = settlement({run, fence}, 1, {
    batches: [1],
    log: [created(1), created(2)],
    released: [{module: 1, flow: 1, key: 'f.1', number: 1}],
    kept: [{module: 1, key: 'f.2', recordId: 'r2', how: 1, matchKey: null}],
    opened: [{module: 1, key: 'f.1', flow: 1, number: 1, kind: 0, target: null, hasUniqueKey: true, attempt: 1}],
    counts: [2],
    cursor: {flow: 1, lowWater: 2},
  })
  await assertShut(t, 'no such batch', () => settle(here.hot, {...settled, batches: [1, 7]}))
  await assertShut(t, 'another fence', () => settle(here.hot, {...settled, fence: fence + 1}))
  await assertShut(t, 'another settlement', () => settle(here.hot, {...settled, settleNo: 2}))
  await expireLease(here, run)
  await assertShut(t, 'an expired lease', () => settle(here.hot, settled))
  t.true(await findSend(here.hot, {run, batch: 1}), 'the batch is still open')
})

test.serial('a stale owner changes nothing once another owner has taken over the run', async t => {
  const {run, fence} = await beginRun(here)
  await admit(here.hot, intent({run, fence}, 1, 1, 2))
  await expireLease(here, run)
  const next = await takeLease(here.db, {run, owner: 'next', seconds: 60})
  t.like(next, {fence: fence + 1, nextBatch: 2, takeovers: 2, settleNo: 0})
  await assertShut(t, 'T1 of the stale owner', () => admit(here.hot, intent({run, fence}, 2, 3, 2)))
  await assertShut(t, 'T2 of the stale owner', () => settle(here.hot, settlement({run, fence}, 1, {batches: [1], log: [created(1)]})))
  await settle(here.hot, settlement({run, fence: fence + 1}, 1, {batches: [1], log: [created(1), created(2)]}))
  t.deepEqual(await logged(run), [1, 2], "the new owner settles the dead one's batch")
})

test.serial('a repeated T2 settles once', async t => {
  const {run, fence} = await beginRun(here)
  await admit(here.hot, intent({run, fence}, 1, 1, 2))
  const settled = settlement({run, fence}, 1, {batches: [1], log: [created(1), created(2)], counts: [2]})
  await settle(here.hot, settled)
  await assertShut(t, 'said again', () => settle(here.hot, settled))
  const alone = settlement({run, fence}, 2, {log: [created(3)], counts: [1]})
  await settle(here.hot, alone)
  await assertShut(t, 'a settlement without a batch said again', () => settle(here.hot, alone))
  t.deepEqual(await logged(run), [1, 2, 3])
  t.like(await findHead(here.db, run), {settleNo: 2, counts: [3]})
})

test.serial('released rows are no longer counted, and make room for others', async t => {
  const {run, fence} = await beginRun(here, {rowsLimit: 3})
  await admit(here.hot, intent({run, fence}, 1, 1, 3))
  await assertShut(t, 'full', () => admit(here.hot, intent({run, fence}, 2, 4, 1)))
  const released = [1, 2].map(number => ({module: 1, flow: 1, key: `f.${number}`, number}))
  await settle(
    here.hot,
    settlement({run, fence}, 1, {batches: [1], log: [created(1)], released: [...released, {module: 2, flow: 1, key: 'f.3', number: 3}]}),
  )
  t.is((await findHead(here.db, run))!.counted, 1)
  t.is(await countAdmissions(here.db, run), 1)
  await admit(here.hot, intent({run, fence}, 2, 4, 2))
  await assertShut(t, 'full again', () => admit(here.hot, intent({run, fence}, 3, 6, 1)))
})

test.serial('two rows may update one record, but only one may have created or claimed it', async t => {
  const {run, fence} = await beginRun(here)
  const claim = (settleNo: number, number: number, how: number) =>
    settle(
      here.hot,
      settlement({run, fence}, settleNo, {
        log: [created(number)],
        kept: [{module: 1, key: `f.${number}`, recordId: 'r', how, matchKey: null}],
      }),
    )
  await claim(1, 1, 1)
  await claim(2, 2, 3)
  await claim(3, 3, 3)
  const before = await readAll(here)
  for (const how of [1, 2]) t.is(await claim(4, 4, how).then(() => null, sqlStateOf), '23505')
  t.deepEqual(await readAll(here), before)
  await claim(4, 1, 2)
  t.deepEqual(await logged(run), [1, 2, 3, 4])
})

test.serial('a record that a row created stays marked as created when the row updates it', async t => {
  const {run, fence} = await beginRun(here)
  const keep = (settleNo: number, key: string, how: number) =>
    settle(here.hot, settlement({run, fence}, settleNo, {kept: [{module: 1, key, recordId: 'r', how, matchKey: null}]}))
  await keep(1, 'f.1', 1)
  await keep(2, 'f.1', 3)
  t.is(await keep(3, 'f.2', 2).then(() => null, sqlStateOf), '23505', 'no other row takes it')
})

test.serial('the open batches are counted when the lock of the run head is granted, not when it is requested', async t => {
  const {run, fence} = await beginRun(here, {rowsLimit: 2})
  const other = await here.hot.connect()
  await other.query('begin')
  await admit(other as never, intent({run, fence}, 1, 1, 2))
  const locked = here.db.transaction(tx => lockHead(tx, {run, fence}))
  await until(() => here.db.exists(sql.type(z.object({}))`select from pg_locks where not granted`), Boolean)
  await other.query('commit')
  other.release()
  t.like(await locked, {counted: 2, sendsOpen: 1})
})

test.serial('a row that gets another record is found by its newest key', async t => {
  const {run, fence} = await beginRun(here)
  const keep = (settleNo: number, recordId: string, key: string) =>
    settle(here.hot, settlement({run, fence}, settleNo, {kept: [{module: 1, key: 'f.1', recordId, how: 3, matchKey: Buffer.from(key)}]}))
  await keep(1, 'a', 'old')
  await keep(2, 'b', 'new')
  const {rows} = await here.hot.query('select record_id, match_key from chain_rows where chain_no = $1', [run])
  t.deepEqual(rows, [{record_id: 'b', match_key: Buffer.from('new')}])
})

test.serial('eight batches in flight and a thousand settlements cause no deadlock, no gap and no wrong count', async t => {
  const runs = await Promise.all([beginRun(here), beginRun(here)])
  const settles = 500
  const size = 5
  const work = async ({run, fence}: {run: number; fence: number}) => {
    let batch = 0
    let settled: Promise<unknown> = Promise.resolve()
    let settleNo = 0
    const send = async () => {
      while (batch < settles) {
        const mine = ++batch
        const from = mine * size
        await admit(here.hot, intent({run, fence}, mine, from, size))
        const rows = Array.from({length: size}, (_, n) => from + n)
        // Every tenth row is refused, and released by the same statement.
        const released = rows.filter(number => number % 10 === 0).map(number => ({module: 1, flow: 1, key: `f.${number}`, number}))
        const kept = rows.map(number => ({
          module: 1,
          key: `f.${number}`,
          recordId: `r${number}`,
          how: 1,
          matchKey: Buffer.from(String(number)),
        }))
        const counts = [size - released.length, 0, released.length]
        settled = settled.then(() =>
          settle(
            here.hot,
            settlement({run, fence}, ++settleNo, {batches: [mine], log: rows.map(number => created(number)), released, kept, counts}),
          ),
        )
        await settled
      }
    }
    await Promise.all([...Array.from({length: 8}, send), refreshStatistics(here.hot, {fewerThan: 2_000})])
    return run
  }
  for (const run of await Promise.all(runs.map(work))) {
    const head = (await findHead(here.db, run))!
    const rows = settles * size
    t.is(head.settleNo, settles)
    t.deepEqual(await logged(run), upTo(rows))
    t.deepEqual(head.counts, [rows * 0.9, 0, rows * 0.1])
    t.is(head.counted, rows * 0.9)
    t.is(await countAdmissions(here.db, run), rows * 0.9)
    t.deepEqual(await listSends(here.db, run), [])
  }
})

test.serial('a reader beside four writers sees every log entry once and in order', async t => {
  const {run, fence} = await beginRun(here)
  const entries = 300
  let settleNo = 0
  let number = 0
  const write = async () => {
    while (number < entries) {
      const mine = ++settleNo
      const count = Math.min(1 + (mine % 4), entries - number)
      const log = Array.from({length: count}, () => created(++number))
      // Settlements may arrive out of order; each retries until its number is next.
      while ((await settle(here.hot, settlement({run, fence}, mine, {log})).then(() => null, sqlStateOf)) === GATE_SHUT);
    }
  }
  const seen: number[] = []
  const read = async () => {
    while (seen.length < entries) {
      const page = await listLog(here.db, {run, after: seen.at(-1) ?? 0, limit: 50})
      seen.push(...page.map(({seq}) => seq))
    }
  }
  await Promise.all([read(), ...Array.from({length: 4}, write)])
  t.deepEqual(seen, upTo(entries))
})
