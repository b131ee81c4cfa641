import test from 'ava'
import {settle} from '../../sql/ledger.ts'
import {findRunByNo} from '../../sql/runs.ts'
import {addUnreadToCounts, measureQueue} from '../../sql/verify-queue.ts'
import {beginRun, openLedger, settlement} from '../support/running.ts'

let here: Awaited<ReturnType<typeof openLedger>>
test.before(async () => {
  here = await openLedger('verify_queue')
})
test.after.always(() => here?.close())

test('the guard compares differing writes and patches with all writes and patches that were read back', async t => {
  const judge = async (verified: number[], since: number[] = []) =>
    (await here.hot.query(`select guard_coerced('{"coerced": 0.2}', $1, $2) as held`, [verified, since])).rows[0].held
  const [rows, differing, patches] = [100, 30, 100]
  t.is(await judge([rows, differing, 0, 0, 0, 0, patches]), null)
  t.like(await judge([rows, differing, 0, 0, 0, 0, 0]), {rows: 30, settled: 100})
  t.like(await judge([rows, differing]), {rows: 30, settled: 100}, 'the release before counts no patches')
  t.like(await judge([rows, differing, 0, 0, 0, 0, patches], [50, 0, 0, 0, 0, 0, 100]), {rows: 30, settled: 50})
})

test('unread rows of an ended run are counted once when its end is repeated', async t => {
  const begun = await beginRun(here)
  for (const no of [1, 2]) {
    const queued = {records: [`${no}`], rows: 3, countedRows: 2, sealed: Buffer.from('rows')}
    await settle(here.hot, settlement(begun, no, {queued}))
  }
  // The release before stores no `counted_rows`.
  await here.hot.query('update verify_queue set counted_rows = null where run_no = $1 and settle_no = 2', [begun.run])
  t.is((await findRunByNo(here.db, begun.run))!.toVerify, 5)
  await addUnreadToCounts(here.db, begun.run)
  await addUnreadToCounts(here.db, begun.run)
  const {rows} = await here.hot.query('select verified from run_heads where run_no = $1', [begun.run])
  t.deepEqual(rows[0].verified.map(Number), [0, 0, 0, 0, 0, 5])
  t.is((await measureQueue(here.db, {run: begun.run, seconds: 0})).rows, 0)
})
