import test from 'ava'
import type {Measure} from './figures.ts'
import {isMissed, linesOf} from './page.ts'

const measured: Measure = {
  subject: 'Requests',
  measure: async () => ({}),
  figures: {
    fast: {about: 'ours ÷ theirs', atLeast: 0.3},
    heavy: {about: 'its memory', atMost: 256},
    plain: {about: 'how many'},
  },
}

test('a bench page shows each figure below its subject with its limit, and marks a figure that misses it', t => {
  const lines = linesOf(measured, {fast: 0.2444, heavy: 229.4, plain: 24_512.3}, null, 8)
  t.deepEqual(lines, [
    '',
    'Requests',
    '    0.244  >= 0.30   MISSED  fast      ours ÷ theirs',
    '      229  <= 256            heavy     its memory',
    '    24512                    plain     how many',
  ])
  t.is(linesOf(measured, {fast: 0.3, heavy: 1, plain: 1}, 'Requests', 8).length, 3)
})

test('a measured value that is not a number misses every limit', t => {
  t.true(isMissed({about: '', atLeast: 0}, Number.NaN))
  t.true(isMissed({about: '', atMost: 1}, Number.NaN))
  t.false(isMissed({about: '', atMost: 1}, 1))
  t.false(isMissed({about: ''}, Number.NaN))
})
