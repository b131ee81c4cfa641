import test from 'ava'
import {findPatchable, HOW, listRunWriters} from '../../sql/chain-rows.ts'
import {settle} from '../../sql/ledger.ts'
import {beginRun, openLedger, settlement} from '../support/running.ts'

let here: Awaited<ReturnType<typeof openLedger>>
test.before(async () => {
  here = await openLedger('chain-rows')
})
test.after.always(() => here?.close())

type SettledRow = {how: number; isPatched?: boolean}

/** Settles one row in two runs of a chain. The row is patched if `isPatched`. Returns the chain and the second run. */
const settleTwice = async ([first, second]: [SettledRow, SettledRow]) => {
  const [one, two] = [await beginRun(here), await beginRun(here)]
  const row = {module: 1, key: 'f.1'}
  const patched = {...row, filled: [], isWhole: true}
  for (const [{run, fence}, {how, isPatched}] of [[one, first] as const, [two, second] as const]) {
    const of = {run, fence}
    if (how) await settle(here.hot, settlement(of, 1, {chain: one.run, kept: [{...row, recordId: 'r', how, matchKey: null}]}))
    if (isPatched) await settle(here.hot, settlement(of, how ? 2 : 1, {chain: one.run, patched: [patched]}))
  }
  return {chain: one.run, run: two.run}
}

const listPatchable = async (settled: [SettledRow, SettledRow]) => {
  const {chain, run} = await settleTwice(settled)
  return findPatchable(here.hot, {chain, before: chain, run, module: 1, keys: ['f.1']})
}

for (const before of ['matched', 'unchanged'] as const)
  test(`a row that was patched as ${before} is patched again after a retry updated it`, async t => {
    t.like(await listPatchable([{how: HOW[before], isPatched: true}, {how: HOW.updated}]), [{how: HOW.updated, patched: false}])
  })

test('a matched row whose record a retry finds unchanged is patched as unchanged', async t => {
  t.like(await listPatchable([{how: HOW.matched, isPatched: true}, {how: HOW.unchanged}]), [{how: HOW.unchanged, patched: false}])
})

test('a patched row that gets its record in the same way again, or that created it, is not patched again', async t => {
  for (const how of [HOW.matched, HOW.unchanged]) t.deepEqual(await listPatchable([{how, isPatched: true}, {how}]), [])
  t.deepEqual(await listPatchable([{how: HOW.made, isPatched: true}, {how: HOW.updated}]), [])
})

test('a row to patch is the own row of the run that wrote it, and not of a retry', async t => {
  t.like(await listPatchable([{how: HOW.made}, {how: 0}]), [{isOwn: false}])
  t.like(await listPatchable([{how: HOW.matched}, {how: HOW.updated}]), [{isOwn: true}])
})

test('a row of an earlier run is a writer of the retry that patched it', async t => {
  const listWriters = ({chain, run}: {chain: number; run: number}) => listRunWriters(here.db, {chain, run, modules: [1], records: ['r']})
  t.deepEqual(await listWriters(await settleTwice([{how: HOW.made}, {how: 0, isPatched: true}])), [{module: 1, recordId: 'r', key: 'f.1'}])
  t.deepEqual(await listWriters(await settleTwice([{how: HOW.made}, {how: 0}])), [])
})
