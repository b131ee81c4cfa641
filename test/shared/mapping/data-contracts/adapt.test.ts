import test from 'ava'
import {adaptContract} from '../../../../shared/mapping/data-contracts/adapt.ts'
import {findBreaches} from '../../../../shared/mapping/data-contracts/breach.ts'
import {DataContract} from '../../../../shared/mapping/data-contracts/contract.ts'

test('a file meets the contract that was adapted to its number of rows, however far that is from the median', t => {
  const contract = DataContract.parse({sources: [{slot: 's', rows: {least: 1, change: 0.5}}]})
  for (const accepted of [
    [0, 0, 0],
    [0, 1],
    [1, 1, 1],
    [7, 15, 16, 90],
  ].map(rows => [...rows, ...rows]))
    for (const rows of [0, 1, 5, 29, 58, 101, 102, 5_000]) {
      const file = {label: 'File', measure: {rows, names: [], fileColumns: [], columns: []}, accepted}
      const adapted = adaptContract(contract, findBreaches(contract.sources[0]!, file)).contract
      t.deepEqual(findBreaches(adapted.sources[0]!, file), [], `${rows} rows after ${accepted}`)
      t.deepEqual(DataContract.parse(adapted), adapted)
    }
})

test('a breach never rounds a share of empty cells down to the limit that it exceeds', t => {
  const shareOf = (emptyShare: number, filled: number, empties: number) => {
    const contract = DataContract.parse({sources: [{slot: 's', columns: [{name: 'c', emptyShare}]}]}).sources[0]!
    const column = {name: 'c', filled, empties, firstEmpty: 1, kinds: {}, repeated: null, others: null}
    const measure = {rows: filled + empties, names: ['c'], fileColumns: ['c'], columns: [column]}
    return findBreaches(contract, {label: 'File', measure, accepted: []})[0]?.message
  }
  t.is(shareOf(0, 9_999, 1), 'File, column "c": 0.01 % of the cells are empty, and at most 0 % may be')
  t.is(shareOf(0.0001, 9_995, 5), 'File, column "c": 0.05 % of the cells are empty, and at most 0.01 % may be')
  t.is(shareOf(0.5, 49_999, 50_001), 'File, column "c": 50.01 % of the cells are empty, and at most 50 % may be')
  t.is(shareOf(0.07, 90, 10), 'File, column "c": 10 % of the cells are empty, and at most 7 % may be')
})
