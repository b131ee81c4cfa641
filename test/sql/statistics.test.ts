import test from 'ava'
import {HOW} from '../../sql/chain-rows.ts'
import {settle} from '../../sql/ledger.ts'
import {refreshStatistics} from '../../sql/statistics.ts'
import {beginRun, openLedger, settlement} from '../support/running.ts'

let here: Awaited<ReturnType<typeof openLedger>>
test.before(async () => {
  here = await openLedger('statistics')
})
test.after.always(() => here?.close())

test('tables are analysed while Postgres estimates few rows for them, and no longer once it knows more', async t => {
  const all = ['admissions', 'chain_rows', 'log_batches', 'run_log', 'sends', 'unsettled']
  t.deepEqual((await refreshStatistics(here.hot, {fewerThan: 2_000})).toSorted(), all)
  const begun = await beginRun(here)
  const kept = Array.from({length: 3_000}, (_, n) => ({module: 1, key: `f.${n}`, recordId: `${n}`, how: HOW.made, matchKey: null}))
  await settle(here.hot, settlement(begun, 1, {kept}))
  const believed = async () => (await here.hot.query(`select reltuples from pg_class where oid = 'chain_rows'::regclass`)).rows[0].reltuples
  t.is(await believed(), 0)
  t.true((await refreshStatistics(here.hot, {fewerThan: 2_000})).includes('chain_rows'))
  t.is(await believed(), 3_000)
  t.deepEqual(
    (await refreshStatistics(here.hot, {fewerThan: 2_000})).toSorted(),
    all.filter(table => table !== 'chain_rows'),
  )
  t.deepEqual((await refreshStatistics(here.hot, {fewerThan: 20_000})).toSorted(), all)
})
