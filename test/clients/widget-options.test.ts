import test from 'ava'
import {optionsOf, splitTags} from '../../api/clients/widget/imports/option-choices.ts'

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
