import test from 'ava'
import {
  addEntry,
  addSuggestions,
  columnAsItIs,
  entriesOf,
  limitShown,
  listFixableProblems,
  listShown,
  positionOf,
  putEntry,
  withEntries,
} from '../../api/clients/widget/imports/value-entries.ts'
import {problem} from './widget-samples.ts'

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
  t.is(positionOf([{from: 'Österreich', to: 'AT'}], 'österreich'.normalize('NFD')), 0)
  const before = {field: 'Tier', mode: 'column' as const, picklist: 'map' as const, map: {gold: 'Gold'}}
  t.deepEqual(entriesOf(before), [{from: 'gold', to: 'Gold'}])
  t.deepEqual(withEntries(before, entries), {values: entries, map: null, picklist: null, otherwise: null})
})

test('every value with an entry is shown, and adding it again keeps its entry', t => {
  const values = Array.from({length: 9}, (_, n) => ({value: `v${n}`, count: 9 - n, option: false, suggestion: null}))
  const entries = [{from: 'V8', to: 'Kept'}]
  const {shown, isCut} = limitShown(listShown(entries, values), 3)
  t.deepEqual(
    shown.map(({from, to}) => [from, to]),
    [
      ['v0', null],
      ['v1', null],
      ['v2', null],
      ['v8', 'Kept'],
    ],
  )
  t.true(isCut)
  t.false(limitShown(listShown(entries, values), 8).isCut)
  t.deepEqual(addEntry(entries, ' v8 '), entries)
  t.deepEqual(addEntry(entries, 'new'), [...entries, {from: 'new', to: ''}])
})

test('a question shows a cell only if the mapping writes it as it is', t => {
  const mapping = {field: 'Tier', mode: 'column', source: 'tier'} as const
  t.is(columnAsItIs(mapping), 'tier')
  for (const changed of [{transform: 'x'}, {values: [{from: 'a', to: 'b'}]}, {mode: 'search' as const}, {mode: 'expression' as const}])
    t.is(columnAsItIs({...mapping, ...changed}), null, JSON.stringify(changed))
  t.is(columnAsItIs(undefined), null)
})

test('the page offers one fix for the unknown values of a field, even if the check lists two problems', t => {
  const fields = [
    {field: 'Email', mode: 'column' as const, source: 'Mail', empty: 'leave' as const},
    {field: 'City', mode: 'column' as const, source: 'City', empty: 'leave' as const, transform: 'value'},
  ]
  const found = {flows: [{id: 'leads', sourceId: 's', module: 'Leads', fields}]}
  const problems = [
    {...problem, kind: 'not_in_picklist'},
    {...problem, kind: 'value_unmapped'},
    {...problem, kind: 'not_in_picklist', field: 'City'},
    problem,
  ]
  t.deepEqual(listFixableProblems(found, problems), problems.slice(0, 1))
})
