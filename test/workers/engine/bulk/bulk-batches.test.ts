import test from 'ava'
import {type BulkKind, openBulkBatches} from '../../../../workers/engine/bulk/bulk-batches.ts'
import {compiledFlow, field, row} from '../fixtures.ts'

const names = Array.from({length: 40}, (_, n) => `F${n}`)
const flow = compiledFlow(names.map(name => field(name)))

/** Opens batches in which a bulk job is worth it from 100 rows. Group `n` has `sizes[n]` updates, which fill only the field `n`. */
const open = (sizes: number[], isForced = false) => {
  const keyColumn = {apiName: 'F0', kind: 'text' as const}
  const batches = openBulkBatches({keyColumn, rowsPerJob: 1_000, leastRows: 100, isForced, keepRefused: async () => {}}, flow)
  let number = 0
  const add = (kind: BulkKind, n: number) => batches.add(kind, {row: row(++number, {payload: {[names[n]!]: 'x'}}), target: `r${number}`})
  for (const [n, size] of sizes.entries()) for (let at = 0; at < size; at++) add('update', n)
  return {batches, add}
}
const sizesOf = (batches: ReturnType<typeof open>['batches']) => {
  const taken = []
  for (let rows = batches.takeIdle(); rows; rows = batches.takeIdle()) taken.push([rows.ops.length, rows.isForRecords ?? false])
  return taken
}

test('record calls write the rows of many small groups together', t => {
  t.deepEqual(sizesOf(open(Array(40).fill(15)).batches), [[600, true]])
})

test('a group that is worth a job becomes one, and record calls write the other groups', t => {
  t.deepEqual(sizesOf(open([120, 60, 50, 3, 2]).batches), [
    [120, false],
    [65, true],
    [50, true],
  ])
})

test('if a run asks for bulk writes, the first file of each kind is a job, whatever its size', t => {
  const {batches, add} = open([10, 5, 4], true)
  const first = batches.takeIdle()!
  t.like(first, {kind: 'update', isForRecords: undefined, ops: {length: 10}})
  t.true(batches.isWorthIt(first))
  add('create', 0)
  t.deepEqual(batches.takeIdle()?.ops.length, 9)
  t.like(batches.takeIdle(), {kind: 'create', isForRecords: undefined})
})

test('if a group has a row far behind the last row read, record calls write the group, unless a job is worth it', t => {
  const {batches} = open([3, 120])
  t.is(batches.takeLate(4), null)
  t.is(batches.takeLate(1_000), null)
  t.like(batches.takeLate(2), {kind: 'update', isForRecords: true, ops: {length: 3}})
  t.deepEqual(sizesOf(batches), [[120, false]])
})
