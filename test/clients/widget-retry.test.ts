import test from 'ava'
import {openOf, sayRetry} from '../../api/clients/widget/runs/retry-words.ts'
import type {Run} from '../../api/clients/widget/runs/run.ts'
import type {Group} from '../../api/clients/widget/runs/tally.ts'

test('a retry says apart which rows it writes, which links it fills and which tags it adds', t => {
  t.like(sayRetry({left: 2, links: 3, tags: 0}), {button: 'Retry 2 rows', action: 'Write up to 2 rows'})
  t.regex(sayRetry({left: 2, links: 3, tags: 0}).effect, /up to 2 rows\..*up to 3 links/)
  t.like(sayRetry({left: 0, links: 1, tags: 4}), {button: 'Fill 1 link', action: 'Fill up to 1 link'})
  t.like(sayRetry({left: 0, links: 0, tags: 4}), {button: 'Tag 4 records', action: 'Tag 4 records'})
  t.is(sayRetry({left: 0, links: 0, tags: 0}).button, 'Retry the run', 'a stopped run without open rows')
})

test('a run is open for its unwritten rows, its empty links, and the records that did not get their tags', t => {
  const run = {counts: {Accounts: {created: 5, failed: 1}}, progress: {done: 6, total: 6}} as unknown as Run
  const linksEmpty = [{flowId: 'a', field: 'Parent', rows: 2}]
  const groups = ['updated', 'refused', 'unanswered'].map(outcome => ({phase: 'tag', outcome, rows: 2}) as Group)
  t.deepEqual(openOf({...run, linksEmpty}, groups), {left: 1, links: 2, tags: 4})
})
