import test from 'ava'
import {
  columnsOf,
  contractIn,
  draftOf,
  fromFields,
  type SourceContract,
  toFields,
} from '../../api/clients/widget/templates/contract-draft.ts'

const sourceOf = (name: string): SourceContract => ({
  slot: 'main',
  columns: [{name, present: true, type: null, unique: false, values: null, picklist: null, emptyShare: null}],
  otherColumns: 'allow',
  rows: {least: null, most: null, change: null},
})

test('a proposal replaces the expectations of a column that it lacks, also of one outside the template', t => {
  const stored = draftOf([{slot: 'main', columns: ['town']}], [sourceOf('city')])
  const learnt = draftOf(columnsOf(stored), [sourceOf('town')])
  t.deepEqual(contractIn(fromFields({...toFields(stored), ...toFields(learnt)})), [sourceOf('town')])
})
