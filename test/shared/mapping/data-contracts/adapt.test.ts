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
