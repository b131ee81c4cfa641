import test from 'ava'
import fc from 'fast-check'
import {openHolds} from '../../../workers/engine/holds.ts'
import type {Row} from '../../../workers/engine/row.ts'
import {row} from './making.ts'

const numbers = (rows: Row[]) => rows.map(({number}) => number)

test('a row waits for the one before it that holds its key, and goes on when that one ends', t => {
  const holds = openHolds()
  const [first, second] = [row(1, {holds: ['a']}), row(2, {holds: ['a']})]
  t.true(holds.take(first))
  t.false(holds.take(second))
  t.deepEqual(numbers(holds.release(first)), [2])
  t.deepEqual(numbers(holds.release(second)), [])
})

test('a row that needs nothing never waits', t => {
  const holds = openHolds()
  t.true(holds.take(row(1)))
  t.true(holds.take(row(2)))
})

test('a row does not pass another that waits for the same key', t => {
  const holds = openHolds()
  const [first, second, third] = [row(1, {holds: ['a']}), row(2, {holds: ['a', 'b']}), row(3, {holds: ['b']})]
  t.true(holds.take(first))
  t.false(holds.take(second))
  t.false(holds.take(third), 'row 2 comes before row 3 at b')
  t.deepEqual(numbers(holds.release(first)), [2])
  t.deepEqual(numbers(holds.release(second)), [3])
})

test('a row freed from two waits is answered once, when it holds both', t => {
  const holds = openHolds()
  const [a, b, both] = [row(1, {holds: ['a']}), row(2, {holds: ['b']}), row(3, {holds: ['a', 'b']})]
  t.deepEqual([a, b, both].map(holds.take), [true, true, false])
  t.deepEqual(numbers(holds.release(b)), [])
  t.deepEqual(numbers(holds.release(a)), [3])
})

test('rows of one record are written in the order of the file, whoever asks first once it is free', t => {
  const holds = openHolds()
  const [first, second, third] = [row(1), row(5), row(10)]
  for (const one of [first, second, third]) holds.take(one)
  t.true(holds.takeRecord(first, 'r'))
  t.false(holds.takeRecord(third, 'r'))
  t.false(holds.takeRecord(second, 'r'))
  t.deepEqual(numbers(holds.release(first)), [5])
  t.true(holds.takeRecord(second, 'r'), 'it holds the record already')
  t.deepEqual(numbers(holds.release(second)), [10])
  t.true(holds.takeRecord(third, 'r'))
})

const keys = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e'), {maxLength: 3})
const world = fc.record({
  rows: fc.array(fc.record({keys, record: fc.option(fc.constantFrom('r', 's'))}), {maxLength: 40}),
  /** Which of the rows at work ends next. */
  picks: fc.array(fc.nat(), {minLength: 120, maxLength: 120}),
})

test('whatever the keys: no two rows at work share one, those of one key go in the order of the file, and every row has its turn', t => {
  fc.assert(
    fc.property(world, ({rows: wanted, picks}) => {
      const holds = openHolds()
      const rows = wanted.map(({keys}, at) => row(at + 1, {holds: [...keys]}))
      const keysOf = (one: Row) => wanted[one.number - 1]!.keys
      const atWork = new Set<Row>()
      const ended: Row[] = []
      const begin = (one: Row) => {
        const {record, keys} = wanted[one.number - 1]!
        if (record !== null && !holds.takeRecord(one, record)) return
        for (const other of atWork) {
          if (keys.some(key => keysOf(other).includes(key)) || (record !== null && wanted[other.number - 1]!.record === record))
            throw new Error(`rows ${other.number} and ${one.number} work at once`)
        }
        atWork.add(one)
      }
      for (const one of rows) if (holds.take(one)) begin(one)
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
