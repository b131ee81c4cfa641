import test from 'ava'
import {mergeDraft} from '../../api/clients/widget/ui/merge-draft.ts'

test('after saved values changed, unsaved changes stay, and the other fields take the new values', t => {
  const before = {zone: 'UTC', name: 'A', on: ['a', 'b']}
  const saved = {zone: 'Europe/Berlin', name: 'B', on: ['b', 'c']}
  t.deepEqual(mergeDraft(before, {before, saved}), saved)
  t.deepEqual(mergeDraft({...before, name: 'Mine'}, {before, saved}), {...saved, name: 'Mine'})
})

test('a list that two people changed has the additions and lacks the removals of both', t => {
  const before = {on: ['a', 'b', 'c']}
  t.deepEqual(mergeDraft({on: ['b', 'c', 'mine']}, {before, saved: {on: ['a', 'b', 'theirs']}}), {on: ['b', 'theirs', 'mine']})
  t.deepEqual(mergeDraft({on: ['c', 'a']}, {before, saved: before}), {on: ['c', 'a']})
})
