import anyTest, {type TestFn} from 'ava'
import {addGeneric} from '../../../shared/crm/connectors/add.ts'
import {CrmError} from '../../../shared/crm/error.ts'
import {GenericDocument} from '../../../shared/crm/generic-document.ts'
import {readByIds} from '../../../shared/crm/records/by-ids.ts'
import {newId} from '../../../shared/ids.ts'
import {keepOrg} from '../../../sql/orgs.ts'
import type {GenericSimulator} from '../../simulators/generic.ts'
import {describeContacts, startContacts} from '../../support/described.ts'
import {type CrmPlace, place} from './crm-fixture.ts'

type Here = {place: CrmPlace; there: GenericSimulator; org: string}
const test = anyTest.serial as TestFn<Here>

test.before(async t => {
  const there = await startContacts()
  const here = await place(t, {environment: {GENERIC_ORIGINS: there.url}})
  const {id: org} = await here.db.transaction(tx => keepOrg(tx, {id: newId('org'), name: 'Test', dc: 'test', crmOrgId: newId('org')}))
  Object.assign(t.context, {place: here, there, org})
})
test.after.always(t => t.context.there?.stop())

const add = async ({place: {db, config}, there, org}: Here, more: object = {}) => {
  const document = GenericDocument.parse(describeContacts(there, more))
  return (await addGeneric({db, config}, {org, via: 'session'}, {kind: 'generic', name: newId('con'), document})).id
}

test('a read of a caller with one slot sends one call at a time, and no call is in progress after a failure', async t => {
  const {place, there} = t.context
  const id = await add(t.context)
  for (const [options, sent] of [
    [{slots: 'own'}, 1],
    [{}, 3],
  ] as const) {
    const connection = await place.crm.open(id, options)
    there.clear()
    there.fail({action: {type: 'answer', status: 503}})
    const query = {module: 'Contacts', field: 'email', values: ['a', 'b', 'c', 'd'], fields: []}
    await t.throwsAsync(connection.findRecords(query), {instanceOf: CrmError})
    t.is(there.journal().length, sent)
  }
})

test('a read by ids answers only described fields that were named, and makes one call for any number of fields', async t => {
  const {place, there} = t.context
  const [contacts] = describeContacts(there).modules
  const many = Array.from({length: 60}, (_, n) => ({apiName: `f${n}`, label: `F ${n}`, type: 'text'}))
  const connection = await place.crm.open(await add(t.context, {modules: [{...contacts, fields: [...contacts!.fields, ...many]}]}))
  const record = {name: 'Flo', email: 'flo@example.org', f59: 'x'}
  const {results} = await connection.createRecords('Contacts', [{...record, undescribed: 'y'}], {})
  const id = results[0]?.ok ? results[0].recordId : ''
  const [module] = await connection.readModules()
  const read = async (fields: string[]) =>
    (await readByIds({module: module!, connection}, {ids: [id], fields, check: []}, {signal: new AbortController().signal})).records
  t.deepEqual(await read(['name', 'f1']), [{id, name: 'Flo', $display_name: 'Flo'}])
  t.deepEqual(await read(['f59']), [{id, f59: 'x'}])
  there.clear()
  t.deepEqual(await read([]), [{id, ...record, $display_name: 'Flo'}])
  t.is(there.journal('GET').length, 1)
})
