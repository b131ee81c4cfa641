import test from 'ava'
import type {Flow} from '../../api/clients/widget/imports/import.ts'
import {optionsOf, skipsUnchanged, splitTags} from '../../api/clients/widget/imports/option-choices.ts'

test('tags are split at commas, and a tag that is named twice is kept once', t => {
  t.deepEqual(splitTags(' Fair, May ,, fair'), ['fair', 'May'])
  t.deepEqual(splitTags('  '), [])
})

test('a chosen layout that the CRM no longer has stays in the list', t => {
  const known = [{id: '31', name: 'Standard'}]
  t.deepEqual(optionsOf(known, '31', 'None'), [
    {value: '', label: 'None'},
    {value: '31', label: 'Standard'},
  ])
  t.deepEqual(optionsOf(known, '9', 'None').at(-1), {value: '9', label: '9 (not found)'})
  t.deepEqual(optionsOf(undefined, null, 'None'), [{value: '', label: 'None'}])
})

test('rows that change nothing are skipped by default, unless automations run', t => {
  const match: NonNullable<Flow['match']> = {by: ['Email'], onOne: 'update', onMany: 'ask'}
  t.true(skipsUnchanged({match}))
  t.false(skipsUnchanged({match, automations: true}))
  t.true(skipsUnchanged({match: {...match, unchanged: 'skip'}, automations: true}))
  t.false(skipsUnchanged({match: {...match, unchanged: 'write'}}))
})
