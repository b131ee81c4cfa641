import test from 'ava'
import {HOW} from '../../sql/chain-rows.ts'
import {sql} from '../../sql/database.ts'
import {settle} from '../../sql/ledger.ts'
import {refreshStatistics} from '../../sql/statistics.ts'
import {openStatistics, waitForStatistics} from '../../workers/engine/settle/statistics.ts'
import {beginRun, openLedger, settlement} from '../support/running.ts'
import {until} from '../support/until.ts'

let here: Awaited<ReturnType<typeof openLedger>>
test.before(async () => {
  here = await openLedger('statistics')
})
test.after.always(() => here?.close())

test.serial('a table is analysed while Postgres estimates few rows for it, and not after the estimate has grown', async t => {
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

test.serial('a shutdown can wait until the refresh in progress has ended', async t => {
  const warnings: unknown[] = []
  const grown = openStatistics({hot: here.hot, log: {warn: (...about: unknown[]) => warnings.push(about)} as never})
  let isRefreshed = false
  let refreshed: Promise<unknown> = Promise.resolve()
  await here.db.transaction(async tx => {
    await tx.query(sql.unsafe`lock table admissions in share mode`)
    grown(2_000)
    refreshed = waitForStatistics().then(() => {
      isRefreshed = true
    })
    await until(
      () => here.hot.query(`select from pg_stat_activity where query = 'analyze admissions' and wait_event_type = 'Lock'`),
      ({rowCount}) => rowCount === 1,
    )
    t.false(isRefreshed)
  })
  await refreshed
  t.deepEqual(warnings, [])
})
