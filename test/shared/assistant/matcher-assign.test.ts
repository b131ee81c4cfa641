import test from 'ava'
import fc from 'fast-check'
import {assign} from '../../../shared/assistant/matcher/assign.ts'

const sumOf = (worth: number[][], found: number[]) => found.reduce((sum, column, row) => sum + (column < 0 ? 0 : worth[row]![column]!), 0)

/** Returns the best sum of all assignments of rows to columns by trying each of them. */
const bestSum = (worth: number[][], row = 0, taken: number[] = []): number => {
  if (row === worth.length) return 0
  let best = bestSum(worth, row + 1, taken)
  for (const [column, value] of worth[row]!.entries()) {
    if (value > 0 && !taken.includes(column)) best = Math.max(best, value + bestSum(worth, row + 1, [...taken, column]))
  }
  return best
}

test('two good pairs are preferred to one very good pair', t => {
  t.deepEqual(
    assign([
      [0.7, 0.6],
      [0.6, 0],
    ]),
    [1, 0],
  )
})

test('a pair of no worth is not assigned', t => {
  t.deepEqual(
    assign([
      [0, 0],
      [0, -1],
    ]),
    [-1, -1],
  )
  t.deepEqual(assign([]), [])
  t.deepEqual(assign([[], []]), [-1, -1])
})

test('the assignment has the largest possible sum and uses no column twice', t => {
  const worths = fc.tuple(fc.integer({min: 1, max: 5}), fc.integer({min: 1, max: 5})).chain(([rows, columns]) =>
    fc.array(
      fc.array(
        fc.integer({min: -2, max: 9}).map(value => value / 10),
        {minLength: columns, maxLength: columns},
      ),
      {minLength: rows, maxLength: rows},
    ),
  )
  fc.assert(
    fc.property(worths, worth => {
      const found = assign(worth)
      const given = found.filter(column => column >= 0)
      t.is(new Set(given).size, given.length)
      t.true(Math.abs(sumOf(worth, found) - bestSum(worth)) < 1e-9)
    }),
    {numRuns: 300},
  )
})
