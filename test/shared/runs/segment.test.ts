import test from 'ava'
import {itemsOf} from '../../../shared/runs/segment.ts'

const linesOf = (seqs: number[]) =>
  Buffer.from(seqs.map(seq => `${JSON.stringify({seq, message: 'Zoë\n'.repeat((seq * 7) % 11)})}\n`).join(''))

test('a page begins at its first entry, wherever that is in the lines', t => {
  for (const count of [0, 1, 2, 3, 50]) {
    const seqs = Array.from({length: count}, (_, at) => 101 + at)
    for (let from = 99; from <= 102 + count; from++)
      for (const limit of [1, 7, 100]) {
        const page = itemsOf<{seq: number}>(linesOf(seqs), {before: ({seq}) => seq < from, count: limit})
        t.deepEqual(
          page.map(({seq}) => seq),
          seqs.filter(seq => seq >= from).slice(0, limit),
          `${count} lines, from ${from}`,
        )
      }
  }
})

test('without a start all lines are read', t => {
  t.deepEqual(
    itemsOf<{seq: number}>(linesOf([1, 2, 3])).map(({seq}) => seq),
    [1, 2, 3],
  )
})
