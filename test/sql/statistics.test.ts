import test from 'ava'
import {settle} from '../../sql/ledger.ts'
import {refreshStatistics} from '../../sql/statistics.ts'
import {beginRun, created, openLedger, settlement} from '../support/running.ts'

let here: Awaited<ReturnType<typeof openLedger>>
test.before(async () => {
  here = await openLedger('statistics')
})
test.after.always(() => here?.close())

test('tables are analysed while Postgres estimates few rows for them, and no longer once it knows more', async t => {
  const all = ['admissions', 'chain_rows', 'run_log', 'sends', 'unsettled']
  t.deepEqual((await refreshStatistics(here.hot, {fewerThan: 2_000})).toSorted(), all)
  const begun = await beginRun(here)
  await settle(here.hot, settlement(begun, 1, {log: Array.from({length: 3_000}, (_, n) => created(n + 1))}))
  const believed = async () => (await here.hot.query(`select reltuples from pg_class where oid = 'run_log'::regclass`)).rows[0].reltuples
  t.is(await believed(), 0)
  t.true((await refreshStatistics(here.hot, {fewerThan: 2_000})).includes('run_log'))
  t.is(await believed(), 3_000)
  t.deepEqual(
    (await refreshStatistics(here.hot, {fewerThan: 2_000})).toSorted(),
    all.filter(table => table !== 'run_log'),
  )
  t.deepEqual((await refreshStatistics(here.hot, {fewerThan: 20_000})).toSorted(), all)
})
