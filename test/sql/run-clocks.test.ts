import test from 'ava'
import {findClockRange, findNewestId, keepNewestId, widenClockRange} from '../../sql/run-clocks.ts'
import {beginRun, openLedger} from '../support/running.ts'

let here: Awaited<ReturnType<typeof openLedger>>
test.before(async () => {
  here = await openLedger('run_clocks')
})
test.after.always(() => here?.close())

/** Begins two runs of one chain, and a run of another chain. */
const beginChain = async () => {
  const [first, second, other] = [await beginRun(here), await beginRun(here), await beginRun(here)]
  await here.hot.query('update runs set chain_no = $1 where run_no = $2', [first.run, second.run])
  return {chain: first.run, first: first.run, second: second.run, other: other.run}
}

test('the clock range of a chain spans the differences of all its runs, and of no other run', async t => {
  const {chain, first, second, other} = await beginChain()
  t.is(await findClockRange(here.db, {run: second, chain}), null)
  await widenClockRange(here.db, {run: first, lowMs: -3_600_000.4, highMs: 0})
  await widenClockRange(here.db, {run: first, lowMs: -10, highMs: 20})
  await widenClockRange(here.db, {run: second, lowMs: 5, highMs: 7_200_000})
  await widenClockRange(here.db, {run: other, lowMs: -9e9, highMs: 9e9})
  const range = {lowMs: -3_600_000, highMs: 7_200_000}
  t.deepEqual(await findClockRange(here.db, {run: first, chain}), range)
  t.deepEqual(await findClockRange(here.db, {run: second, chain}), range)
})

test('the newest record of a module is the first that a run of the chain stored', async t => {
  const {chain, first, second, other} = await beginChain()
  const find = (run: number, module: number) => findNewestId(here.db, {run, chain, module})
  t.is(await find(second, 1), null)
  await keepNewestId(here.db, {run: other, module: 1, id: '9'})
  await keepNewestId(here.db, {run: first, module: 1, id: '100'})
  await keepNewestId(here.db, {run: first, module: 1, id: '200'})
  await keepNewestId(here.db, {run: second, module: 2, id: '300'})
  t.deepEqual([await find(first, 1), await find(second, 1), await find(second, 2), await find(first, 3)], ['100', '100', '300', null])
})
