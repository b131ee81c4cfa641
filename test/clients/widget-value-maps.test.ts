import test from 'ava'
import {
  addSuggestions,
  columnAsItIs,
  entriesOf,
  listShown,
  positionOf,
  putEntry,
  withEntries,
} from '../../api/clients/widget/imports/value-entries.ts'

test('the editor of a value map lists values that need an entry, and changes one entry at a time', t => {
  const values = [
    {value: 'Bank', count: 7, option: false, suggestion: {to: 'Banking'}},
    {value: 'Retail', count: 5, option: true, suggestion: null},
    {value: 'Old', count: 1, option: false, suggestion: null},
  ]
  const entries = [
    {from: 'old ', to: ''},
    {from: 'Gone', to: 'Retail'},
  ]
  t.deepEqual(
    listShown(entries, values).map(({from, to, count}) => [from, to, count]),
    [
      ['Bank', null, 7],
      ['Old', '', 1],
      ['Gone', 'Retail', null],
    ],
  )
  t.deepEqual(addSuggestions(entries, values), [...entries, {from: 'Bank', to: 'Banking'}])
  t.deepEqual(putEntry(entries, 'OLD', 'Retail')[0], {from: 'old ', to: 'Retail'})
  t.deepEqual(putEntry(entries, 'gone', null), [entries[0]!])
  t.is(positionOf(entries, 'gone'), 1)
  const before = {field: 'Tier', mode: 'column' as const, picklist: 'map' as const, map: {gold: 'Gold'}}
  t.deepEqual(entriesOf(before), [{from: 'gold', to: 'Gold'}])
  t.deepEqual(withEntries(before, entries), {values: entries, map: null, picklist: null, otherwise: null})
})

test('a question shows a cell only if the mapping writes it as it is', t => {
  const mapping = {field: 'Tier', mode: 'column', source: 'tier'} as const
  t.is(columnAsItIs(mapping), 'tier')
  for (const changed of [{transform: 'x'}, {values: [{from: 'a', to: 'b'}]}, {mode: 'search' as const}, {mode: 'expression' as const}])
    t.is(columnAsItIs({...mapping, ...changed}), null, JSON.stringify(changed))
  t.is(columnAsItIs(undefined), null)
})
