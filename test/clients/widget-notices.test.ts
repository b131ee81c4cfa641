import test from 'ava'
import {kinds, sayKind} from '../../api/clients/widget/settings/notice-kinds.ts'
import {KINDS} from '../../shared/notifications/kind.ts'

test('each kind of notice has a label in the settings and in the deliveries of a webhook', t => {
  t.deepEqual(Object.keys(kinds), [...KINDS])
  t.is(sayKind('run.ended'), 'A run ended')
  t.is(sayKind('webhook.test'), 'A test')
  t.is(sayKind('kind.of_a_newer_build'), 'kind.of_a_newer_build')
})
