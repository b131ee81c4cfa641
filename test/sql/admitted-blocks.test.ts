import test from 'ava'
import {blocksOf} from '../../sql/admitted-blocks.ts'
import {sql} from '../../sql/database.ts'
import {admit, settle} from '../../sql/ledger.ts'
import {countAdmissions, deleteAdmissions, findHead, listFreshRows} from '../../sql/run-heads.ts'
import {beginRun, intent, openLedger, settlement} from '../support/running.ts'
import {until} from '../support/until.ts'

let here: Awaited<ReturnType<typeof openLedger>>
test.before(async () => {
  here = await openLedger('admitted-blocks')
})
test.after.always(() => here?.close())

test('rows are divided into blocks of 1,024 numbers, one bit each', t => {
  const row = (number: number, flow = 1) => ({module: 1, flow, number})
  const blocks = blocksOf([row(2_048), row(0), row(1_023), row(9), row(9, 2)])
  t.deepEqual(
    blocks.map(({flow, block}) => [flow, block]),
    [
      [1, 0],
      [1, 2],
      [2, 0],
    ],
  )
  t.is(blocks[0]!.bits, `x8040${'0'.repeat(251)}1`)
  t.deepEqual(blocksOf([]), [])
})

/** Begins a run that stores its admissions packed, or in rows. */
const begin = async (isPacked: boolean, options?: {rowsLimit: number}) => {
  const begun = await beginRun(here, options)
  await here.db.query(sql.unsafe`update run_heads set is_packed = ${isPacked} where run_no = ${begun.run}`)
  return begun
}
const keysOf = (from: number, count: number) => Array.from({length: count}, (_, n) => ({key: `f.${from + n}`, number: from + n}))
const releasedOf = (from: number, count: number) => keysOf(from, count).map(row => ({module: 1, flow: 1, ...row}))
const freshOf = async (run: number, from: number, count: number) =>
  (await listFreshRows(here.db, {run, module: 1, flow: 1, rows: keysOf(from, count)})).toSorted()

for (const isPacked of [true, false])
  test(`a row counts once, and not after its release, ${isPacked ? 'packed' : 'in rows'}`, async t => {
    const begun = await begin(isPacked)
    const {run} = begun
    const counted = async () => [(await findHead(here.db, run))!.counted, await countAdmissions(here.db, run)]
    await admit(here.hot, intent(begun, 1, 1_000, 50), intent(begun, 2, 2_000, 50))
    t.deepEqual(await counted(), [100, 100])
    await settle(here.hot, settlement(begun, 1, {batches: [1, 2], released: releasedOf(1_020, 10)}))
    t.deepEqual(await counted(), [90, 90])
    t.deepEqual(await freshOf(run, 1_018, 4), ['f.1020', 'f.1021'])
    await settle(here.hot, settlement(begun, 2, {released: releasedOf(1_020, 10)}))
    t.deepEqual(await counted(), [90, 90], 'a release of rows that are not counted changes nothing')
    const again = intent(begun, 3, 1_018, 20)
    await admit(here.hot, {...again, rows: again.rows.map(row => ({...row, attempt: 2}))})
    t.deepEqual(await counted(), [100, 100])
    await admit(here.hot, {...intent(begun, 4, 5_000, 3), rows: intent(begun, 4, 5_000, 3).rows.map(row => ({...row, isMetered: false}))})
    t.deepEqual(await counted(), [100, 100])
    t.true((await deleteAdmissions(here.db, {run, limit: 1_000})) > 0)
    t.is(await countAdmissions(here.db, run), 0)
  })

test('flows that write into one module are counted separately', async t => {
  const begun = await begin(true)
  await admit(here.hot, intent(begun, 1, 1, 5), {...intent(begun, 2, 1, 5), flow: 2})
  t.is((await findHead(here.db, begun.run))!.counted, 10)
  await settle(here.hot, settlement(begun, 1, {batches: [1, 2], released: releasedOf(1, 5).map(row => ({...row, flow: 2}))}))
  t.deepEqual(await freshOf(begun.run, 1, 5), [])
  t.is(await countAdmissions(here.db, begun.run), 5)
})

test('batches of one block that are admitted and released at once leave a true count', async t => {
  const begun = await begin(true)
  const batches = Array.from({length: 40}, (_, n) => n + 1)
  await Promise.all(batches.map(n => admit(here.hot, intent(begun, n, n * 20, 30))))
  const releasing = async () => {
    for (const n of batches) await settle(here.hot, settlement(begun, n, {batches: [n], released: n % 2 ? releasedOf(n * 20, 5) : []}))
  }
  await Promise.all([releasing(), ...batches.map(n => admit(here.hot, intent(begun, 100 + n, 3_000 + n * 7, 7)))])
  const {counted} = (await findHead(here.db, begun.run))!
  t.is(counted, await countAdmissions(here.db, begun.run))
  t.is(counted, 40 * 20 + 10 - 20 * 5 + 40 * 7)
})

test('rows are released while another batch of their block is being admitted, whichever commits first', async t => {
  const begun = await begin(true)
  await admit(here.hot, intent(begun, 1, 1, 10))
  const waiting = () =>
    until(
      async () =>
        (await here.hot.query(`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`)).rowCount,
      count => count === 1,
    )
  const other = await here.hot.connect()
  await other.query('begin')
  await admit(other as never, intent(begun, 2, 11, 10))
  const settling = settle(here.hot, settlement(begun, 1, {batches: [1], released: releasedOf(1, 4)}))
  await waiting()
  await other.query('commit')
  await settling
  t.is((await findHead(here.db, begun.run))!.counted, 16)
  t.is(await countAdmissions(here.db, begun.run), 16)
  await other.query('begin')
  await settle(other as never, settlement(begun, 2, {batches: [2], released: releasedOf(11, 3)}))
  const admitting = admit(here.hot, intent(begun, 3, 13, 10))
  await waiting()
  await other.query('commit')
  other.release()
  await admitting
  t.is((await findHead(here.db, begun.run))!.counted, 16)
  t.deepEqual(await freshOf(begun.run, 1, 22), ['f.1', 'f.11', 'f.12', 'f.2', 'f.3', 'f.4'])
})

test('a batch for which the limit has no room leaves no bit', async t => {
  const begun = await begin(true, {rowsLimit: 10})
  await admit(here.hot, intent(begun, 1, 1, 8))
  await t.throwsAsync(admit(here.hot, intent(begun, 2, 5, 8)))
  t.deepEqual(await freshOf(begun.run, 5, 8), ['f.10', 'f.11', 'f.12', 'f.9'])
  await admit(here.hot, intent(begun, 2, 5, 6))
  t.is((await findHead(here.db, begun.run))!.counted, 10)
})
