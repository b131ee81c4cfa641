import test from 'ava'
import {column, contactsPath, describeContacts, match, openContacts, startContacts} from '../support/described.ts'
import {ok, prepareImport, untilRun} from '../support/importing.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

test('a matched run progresses at a destination that admits fewer calls a period than the run has values', async t => {
  const there = await startContacts()
  t.teardown(there.stop)
  const here = await startTestDeployment(t, {workers: ['imports', 'discovery'], environment: {GENERIC_ORIGINS: there.url}})
  const org = await openContacts(here, describeContacts(there))

  // The wait is longer than the ten seconds after which a run at another CRM pauses.
  there.limit(15, 12)
  const csv = `name,email\n${Array.from({length: 20}, (_, n) => `Ana ${n},ana${n}@example.org`).join('\n')}\n`
  const flow = {module: 'Contacts', fields: [column('name'), column('email')], match}
  const {path} = await prepareImport(org, {csv, flow})
  const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  const ended = await untilRun(org.call, `${path}/runs/${run.id}`, ({state}) => state === 'ended' || state === 'paused')
  t.like(ended, {state: 'ended', stop: null, counts: {Contacts: {created: 20}}})
  t.is(there.records(contactsPath).length, 20)
  const searched = there.journal('GET').flatMap(({query}) => query.email ?? [])
  t.true(searched.length <= 20 + 2 * 10, `${searched.length} searches: queued ones do not use up the calls of the next period`)
})
