import test from 'ava'
import fc from 'fast-check'
import type {ImportRow} from '../../../workers/engine/model.ts'

import {openRowLocks} from '../../../workers/engine/row-locks.ts'
import {row} from './fixtures.ts'

const numbers = (rows: ImportRow[]) => rows.map(({number}) => number)

test('a row waits for an earlier row that locks the same key, and is freed when that row ends', t => {
  const holds = openRowLocks()
  const [first, second] = [row(1, {lockKeys: ['a']}), row(2, {lockKeys: ['a']})]
  t.true(holds.acquire(first))
  t.false(holds.acquire(second))
  t.deepEqual(numbers(holds.release(first)), [2])
  t.deepEqual(numbers(holds.release(second)), [])
})

test('a row without keys never waits', t => {
  const holds = openRowLocks()
  t.true(holds.acquire(row(1)))
  t.true(holds.acquire(row(2)))
})

test('a row does not overtake another row that waits for the same key', t => {
  const holds = openRowLocks()
  const [first, second, third] = [row(1, {lockKeys: ['a']}), row(2, {lockKeys: ['a', 'b']}), row(3, {lockKeys: ['b']})]
  t.true(holds.acquire(first))
  t.false(holds.acquire(second))
  t.false(holds.acquire(third), 'row 2 comes before row 3 at b')
  t.deepEqual(numbers(holds.release(first)), [2])
  t.deepEqual(numbers(holds.release(second)), [3])
})

test('a row that waits for two locks is freed once, when it holds both', t => {
  const holds = openRowLocks()
  const [a, b, both] = [row(1, {lockKeys: ['a']}), row(2, {lockKeys: ['b']}), row(3, {lockKeys: ['a', 'b']})]
  t.deepEqual([a, b, both].map(holds.acquire), [true, true, false])
  t.deepEqual(numbers(holds.release(b)), [])
  t.deepEqual(numbers(holds.release(a)), [3])
})

test('rows of one record are written in file order, whichever row requests the free record first', t => {
  const holds = openRowLocks()
  const [first, second, third] = [row(1), row(5), row(10)]
  for (const one of [first, second, third]) holds.acquire(one)
  t.true(holds.acquireRecord(first, 'r'))
  t.false(holds.acquireRecord(third, 'r'))
  t.false(holds.acquireRecord(second, 'r'))
  t.deepEqual(numbers(holds.release(first)), [5])
  t.true(holds.acquireRecord(second, 'r'), 'it holds the record already')
  t.deepEqual(numbers(holds.release(second)), [10])
  t.true(holds.acquireRecord(third, 'r'))
})

const keys = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e'), {maxLength: 3})
const world = fc.record({
  rows: fc.array(fc.record({keys, record: fc.option(fc.constantFrom('r', 's'))}), {maxLength: 40}),
  /** Index of the active row that ends next. */
  picks: fc.array(fc.nat(), {minLength: 120, maxLength: 120}),
})

test('for any keys, no two active rows share one, rows of one key run in file order, and every row gets its turn', t => {
  fc.assert(
    fc.property(world, ({rows: wanted, picks}) => {
      const holds = openRowLocks()
      const rows = wanted.map(({keys}, at) => row(at + 1, {lockKeys: [...keys]}))
      const keysOf = (one: ImportRow) => wanted[one.number - 1]!.keys
      const atWork = new Set<ImportRow>()
      const ended: ImportRow[] = []
      const begin = (one: ImportRow) => {
        const {record, keys} = wanted[one.number - 1]!
        if (record !== null && !holds.acquireRecord(one, record)) return
        for (const other of atWork) {
          if (keys.some(key => keysOf(other).includes(key)) || (record !== null && wanted[other.number - 1]!.record === record))
            throw new Error(`rows ${other.number} and ${one.number} work at once`)
        }
        atWork.add(one)
      }
      for (const one of rows) if (holds.acquire(one)) begin(one)
      for (let step = 0; atWork.size; step++) {
        const one = [...atWork][picks[step]! % atWork.size]!
        atWork.delete(one)
        ended.push(one)
        for (const freed of holds.release(one)) begin(freed)
      }
      t.is(ended.length, rows.length, 'every row has its turn')
      for (const key of ['a', 'b', 'c', 'd', 'e'] as const) {
        const order = numbers(ended.filter(one => keysOf(one).includes(key)))
        t.deepEqual(
          order,
          order.toSorted((a, b) => a - b),
          `order at ${key}`,
        )
      }
    }),
    {numRuns: 300},
  )
})
