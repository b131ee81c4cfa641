import test from 'ava'
import {endKindOf, isNotified, withEndNotice} from '../../api/clients/widget/runs/end-notices.ts'
import {kinds, sayKind} from '../../api/clients/widget/settings/notice-kinds.ts'
import {KINDS} from '../../shared/notifications/kind.ts'
import {run} from './widget-samples.ts'

test('each kind of notice has a label in the settings and in the deliveries of a webhook', t => {
  t.deepEqual(Object.keys(kinds), [...KINDS])
  t.is(sayKind('run.ended'), 'A run ended')
  t.is(sayKind('webhook.test'), 'A test')
  t.is(sayKind('kind.of_a_newer_build'), 'kind.of_a_newer_build')
})

test('the first e-mail when a run ends sends the org no other kinds', t => {
  const none = {emails: [], endpoints: [], on: ['run.ended', 'run.held']}
  t.deepEqual(withEndNotice(none, 'a@b.example', 'run.ended'), {emails: ['a@b.example'], endpoints: [], on: ['run.ended']})
})

test('an e-mail about the end of an undo is promised only to recipients of its own kind of notice', t => {
  const ofRuns = {emails: ['a@b.example'], endpoints: [], on: ['run.ended']}
  t.true(isNotified(ofRuns, 'a@b.example', endKindOf(run())))
  const kind = endKindOf(run({undoOf: 'run_0'}))
  t.false(isNotified(ofRuns, 'a@b.example', kind))
  t.deepEqual(withEndNotice(ofRuns, 'a@b.example', kind).on, ['run.ended', 'run.undone'])
  t.true(isNotified(withEndNotice(ofRuns, 'a@b.example', kind), 'a@b.example', kind))
})
