import test from 'ava'
import {addGeneric} from '../../../shared/crm/connectors/add.ts'
import {CrmError} from '../../../shared/crm/error.ts'
import {GenericDocument} from '../../../shared/crm/generic-document.ts'
import {newId} from '../../../shared/ids.ts'
import {keepOrg} from '../../../sql/orgs.ts'
import {describeContacts, startContacts} from '../../support/described.ts'
import {place} from './crm-fixture.ts'

test('a read of a caller with one slot sends one call at a time, and no call is in progress after a failure', async t => {
  const there = await startContacts()
  t.teardown(() => there.stop())
  const {db, config, crm} = await place(t, {environment: {GENERIC_ORIGINS: there.url}})
  const {id: org} = await db.transaction(tx => keepOrg(tx, {id: newId('org'), name: 'Test', dc: 'test', crmOrgId: newId('org')}))
  const document = GenericDocument.parse(describeContacts(there))
  const {id} = await addGeneric({db, config}, {org, via: 'session'}, {kind: 'generic', name: 'Plain', document})
  for (const [options, sent] of [
    [{slots: 'own'}, 1],
    [{}, 3],
  ] as const) {
    const connection = await crm.open(id, options)
    there.clear()
    there.fail({action: {type: 'answer', status: 503}})
    const query = {module: 'Contacts', field: 'email', values: ['a', 'b', 'c', 'd'], fields: []}
    await t.throwsAsync(connection.findRecords(query), {instanceOf: CrmError})
    t.is(there.journal().length, sent)
  }
})
