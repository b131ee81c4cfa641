import anyTest, {type TestFn} from 'ava'
import {readConfig} from '../../../shared/config.ts'
import {addGeneric} from '../../../shared/crm/connectors/add.ts'
import type {Connection} from '../../../shared/crm/crm.ts'
import {CrmError} from '../../../shared/crm/error.ts'
import {GenericDocument} from '../../../shared/crm/generic-document.ts'
import {Refusal} from '../../../shared/errors.ts'
import {newId} from '../../../shared/ids.ts'
import {sql} from '../../../sql/database.ts'
import {keepOrg} from '../../../sql/orgs.ts'
import type {GenericSimulator} from '../../simulators/generic.ts'
import {contactsPath, describeContacts, startContacts} from '../../support/described.ts'
import {type CrmPlace, place} from './crm-fixture.ts'

type Here = {place: CrmPlace; there: GenericSimulator; org: string}
const test = anyTest.serial as TestFn<Here>
const auth = {header: 'x-api-key', value: 'Key s3cret'}

test.before(async t => {
  const there = await startContacts({auth})
  const here = await place(t, {environment: {GENERIC_ORIGINS: there.url, CRM_TIMEOUT_SECONDS: '2'}})
  const {id: org} = await here.db.transaction(tx => keepOrg(tx, {id: newId('org'), name: 'Test', dc: 'test', crmOrgId: newId('org')}))
  Object.assign(t.context, {place: here, there, org})
})
test.beforeEach(t => t.context.there.clear())
test.after.always(t => t.context.there?.stop())

const add = async ({place: {db, config}, there, org}: Here, {secret = 's3cret', ...more}: {secret?: string; renewal?: string} = {}) => {
  const document = GenericDocument.parse(describeContacts(there, {auth: {header: 'X-Api-Key', scheme: 'Key'}, ...more}))
  return (await addGeneric({db, config}, {org, via: 'session'}, {kind: 'generic', name: 'Plain', document, secret})).id
}
const open = async (here: Here, more = {}) => here.place.crm.open(await add(here, more))
const create = async (connection: Connection, ...names: string[]) =>
  (
    await connection.createRecords(
      'Contacts',
      names.map(name => ({name, email: `${name}@example.org`})),
      {},
    )
  ).results
const problem = async (connection: Connection) => {
  const [result] = await create(connection, 'Nobody')
  if (!result || result.ok || !result.sent) throw new Error(`Not a problem: ${JSON.stringify(result)}`)
  return result.crm
}

test('records are created, updated and read with the secret, under any id key', async t => {
  const connection = await open(t.context)
  const [ana, bo] = await create(connection, 'Ana', 'Bo')
  if (!ana?.ok || !bo?.ok) return t.fail('both were made')
  const updated = await connection.updateRecords('Contacts', [{id: bo.recordId, stage: 'customer'}], {})
  t.deepEqual(updated.results, [{ok: true, recordId: bo.recordId}])
  const records = await connection.readRecords({module: 'Contacts', ids: [ana.recordId, bo.recordId, 'nobody'], fields: ['name']})
  t.deepEqual(
    records.map(({id, name, stage}) => ({id, name, stage})),
    [
      {id: ana.recordId, name: 'Ana', stage: undefined},
      {id: bo.recordId, name: 'Bo', stage: 'customer'},
    ],
  )
  t.is(await connection.readRecord('Contacts', 'nobody'), null)
  const found = await connection.findRecords({module: 'Contacts', field: 'email', values: ['Bo@example.org', 'x'], fields: ['email']})
  t.deepEqual([found.records.map(({id}) => id), found.unaskable], [[bo.recordId], []])
  t.true(t.context.there.journal().every(({headers}) => headers['x-api-key'] === 'Key s3cret'))
})

test('each record has its own result: created, refused with its code, or a duplicate with its id', async t => {
  const {there} = t.context
  const connection = await open(t.context)
  const [first] = await create(connection, 'Cy')
  there.fail({action: {type: 'refuse', field: 'name', value: 'Di', error: {code: 'TOO_SHORT', message: 'No', details: {api_name: 'name'}}}})
  const [again, refused, made] = await create(connection, 'Cy', 'Di', 'Ed')
  t.like(again, {ok: false, sent: true, duplicateOf: first?.ok ? first.recordId : ''})
  t.like(refused, {ok: false, crm: {code: 'TOO_SHORT', status: 201, details: {api_name: 'name'}, unanswered: false, retryable: false}})
  t.true(made?.ok)
})

test('an answer without usable results leaves the records unanswered', async t => {
  const {there} = t.context
  const connection = await open(t.context)
  const cases: [Parameters<GenericSimulator['fail']>[0]['action'], object][] = [
    [
      {type: 'drop', when: 'before'},
      {status: null, unanswered: true, retryable: true},
    ],
    [
      {type: 'drop', when: 'after'},
      {status: null, unanswered: true, retryable: true},
    ],
    [
      {type: 'answer', status: 503, body: {code: 'DOWN'}},
      {status: 503, code: 'DOWN', unanswered: true},
    ],
    [
      {type: 'answer', status: 200, body: {}},
      {status: 200, unanswered: true},
    ],
    [
      {type: 'answer', status: 200},
      {status: 200, unanswered: true},
    ],
    [
      {type: 'answer', status: 201, body: {results: []}},
      {status: 201, unanswered: true},
    ],
    [
      {type: 'answer', status: 201, body: {results: [{}]}},
      {status: 201, unanswered: true},
    ],
    [
      {type: 'answer', status: 201, body: {results: [{id: 'a'}, {id: 'b'}]}},
      {status: 201, unanswered: true},
    ],
    [
      {type: 'answer', status: 302, headers: {location: 'http://127.0.0.1:1/'}},
      {status: 302, unanswered: true, retryable: false},
    ],
  ]
  for (const [action, says] of cases) {
    there.fail({action})
    t.like(await problem(connection), says, JSON.stringify(action))
  }
  t.is(there.journal().length, cases.length, 'nothing was sent twice, and no redirect followed')
})

test('a read of a record without a usable id is refused, because its row would be created again', async t => {
  const connection = await open(t.context)
  for (const key of [{}, {contact_id: 2 ** 60}, {contact_id: 'a,b'}]) {
    t.context.there.fail({action: {type: 'answer', status: 200, body: {records: [{...key, name: 'Ana'}]}}})
    const error = await t.throwsAsync(connection.findRecords({module: 'Contacts', field: 'name', values: ['Ana'], fields: []}), {
      instanceOf: CrmError,
    })
    t.like(error.crm, {code: 'ID_UNUSABLE', retryable: false})
  }
  t.true(connection.isRecordId('Z2lk/+A=='))
  t.false(connection.isRecordId('a,b'))
})

test('a result with an id and a null error was made', async t => {
  const connection = await open(t.context)
  t.context.there.fail({action: {type: 'answer', status: 201, body: {results: [{id: '5', error: null}]}}})
  t.deepEqual(await create(connection, 'Ana'), [{ok: true, recordId: '5'}])
})

test('an update answered with the id of another record is unanswered', async t => {
  const connection = await open(t.context)
  t.context.there.fail({action: {type: 'answer', status: 200, body: {results: [{id: 'other'}]}}})
  const {results} = await connection.updateRecords('Contacts', [{id: 'mine', name: 'x'}], {})
  t.like(results[0], {ok: false, sent: true, crm: {unanswered: true}})
})

test('a refusal of the whole call refuses every record, and nothing was created', async t => {
  const {there} = t.context
  const connection = await open(t.context)
  there.fail({action: {type: 'answer', status: 422, body: {error: {code: 'BAD', message: 'No'}}}})
  t.like(await problem(connection), {code: 'BAD', status: 422, unanswered: false, retryable: false})
  there.fail({action: {type: 'answer', status: 429, headers: {'retry-after': '7'}, body: {code: 'SLOW'}}})
  t.like(await problem(connection), {code: 'SLOW', status: 429, rateLimited: true, retryAfterMs: 7000, quotaSpent: false, retryable: true})
  const stranger = await open(t.context, {secret: 'wrong'})
  t.like(await problem(stranger), {code: 'UNAUTHORISED', status: 401, unanswered: false})
  const made = there.records(contactsPath).length
  there.fail({action: {type: 'answer', status: 400, body: {results: [{id: 'a'}, {error: {code: 'NO', message: 'No'}}]}}})
  const results = await create(connection, 'Flo', 'Gus')
  t.like(results[0], {ok: true, recordId: 'a'}, 'a refusal that lists its records is read record by record')
  t.like(results[1], {ok: false, crm: {code: 'NO', status: 400}})
  t.is(there.records(contactsPath).length, made)
})

const ahead = ({place: {db}}: Here, interval: string) =>
  db.query(sql.unsafe`
    insert into clock_offset (ahead) values (${interval}::text::interval) on conflict (only_row) do update set ahead = excluded.ahead`)

test('an exhausted quota is refused before sending, with its renewal time, and reopens by itself', async t => {
  const {place, there} = t.context
  const renewal = new Date(Date.now() + 3_600_000).toISOString().slice(11, 16)
  const id = await add(t.context, {renewal: `daily at ${renewal} UTC`})
  const connection = await place.crm.open(id)
  there.fail({action: {type: 'answer', status: 429, headers: {'retry-after': '5'}}})
  t.like(await problem(connection), {quotaSpent: false, retryAfterMs: 5000}, 'a short wait is no end of the day')
  there.fail({action: {type: 'answer', status: 429}})
  const crm = await problem(connection)
  t.like(crm, {quotaSpent: true, rateLimited: true, retryable: false, unanswered: false})
  t.true(Number.isInteger(crm.retryAfterMs))
  const isHour = (ms: unknown) => Number(ms) > 3_500_000 && Number(ms) <= 3_600_000
  t.true(isHour(crm.retryAfterMs), String(crm.retryAfterMs))

  const sent = there.journal().length
  for (const crm of [place.crm, await place.openAnother()]) {
    const [result] = await create(await crm.open(id), 'Hal')
    if (!result || result.ok || result.sent) return t.fail('it was sent')
    t.like(result.refusal, {code: 'DAILY_ALLOWANCE_SPENT', status: 429, extra: {written: false}})
    t.true(isHour(result.refusal.extra.retryAfterMs))
  }
  const read = await t.throwsAsync(connection.readRecord('Contacts', 'x'), {instanceOf: Refusal})
  t.is(read!.code, 'DAILY_ALLOWANCE_SPENT')
  t.is(there.journal().length, sent)

  await ahead(t.context, '61 minutes')
  t.true((await create(connection, 'Hal'))[0]?.ok)
  await ahead(t.context, '0 minutes')
})

test('a read refused for an exhausted quota has the renewal time', async t => {
  const connection = await open(t.context, {renewal: 'daily at 00:00 UTC'})
  t.context.there.fail({action: {type: 'answer', status: 429, headers: {'retry-after': '600'}}})
  const error = await t.throwsAsync(connection.readRecord('Contacts', 'x'), {instanceOf: CrmError})
  t.like(error, {
    renews: true,
    message: 'The daily quota of this destination is exhausted. Try again after it renews',
    crm: {quotaSpent: true, status: 429},
  })
  t.true(Math.abs(error!.crm.retryAfterMs! - 600_000) < 2_000, 'the longer wait it asks for itself comes first')
})

test('operations that a generic destination does not support are refused, and nothing is sent', async t => {
  const connection = await open(t.context)
  const asked = [
    connection.searchWord({module: 'Contacts', word: 'ana', page: 1, perPage: 20}),
    connection.currentUser(),
    connection.findUser('1'),
    connection.readLicence(),
  ]
  for (const asking of asked) t.is((await t.throwsAsync(asking, {instanceOf: Refusal}))!.code, 'NOT_OFFERED')
  t.is((await t.throwsAsync(connection.readRecord('Leads', '1'), {instanceOf: Refusal}))!.code, 'MODULE_NOT_FOUND')
  t.is(t.context.there.journal().length, 0)
})

test('a destination whose origin the operator removed is not called', async t => {
  const {place, there} = t.context
  const id = await add(t.context)
  const other = await place.openAnother({config: {GENERIC_ORIGINS: ['https://api.example.com']}})
  t.is((await t.throwsAsync(other.open(id), {instanceOf: Refusal}))!.code, 'CONNECTION_UNAVAILABLE')
  t.is(there.journal().length, 0)
})

test('a secret is encrypted for its row and does not open in another', async t => {
  const id = await add(t.context)
  const {db} = t.context.place
  const sealed = await db.oneFirst(sql.unsafe`select refresh_sealed from grants where connector_id = ${id}`)
  t.false(String(sealed).includes('s3cret'))
  const other = await add(t.context)
  await db.query(sql.unsafe`update grants set refresh_sealed = ${sealed as string} where connector_id = ${other}`)
  t.is((await t.throwsAsync(t.context.place.crm.open(other), {instanceOf: Refusal}))!.code, 'CONNECTION_UNAVAILABLE')
})

test('origins must be https, or http on the local host, and nothing more than an origin', t => {
  const read = (GENERIC_ORIGINS: string) => readConfig({GENERIC_ORIGINS}).GENERIC_ORIGINS
  t.deepEqual(read(''), [])
  t.deepEqual(read('https://api.example.com/, http://127.0.0.1:4010,http://[::1]:1'), [
    'https://api.example.com',
    'http://127.0.0.1:4010',
    'http://[::1]:1',
  ])
  for (const bad of [
    'http://api.example.com',
    'http://127.0.0.1.example.com',
    'https://api.example.com/v1',
    'api.example.com',
    'ftp://localhost',
  ])
    t.throws(() => read(bad), {message: /GENERIC_ORIGINS/}, bad)
})

test('an inconsistent document is refused with the path of the error', t => {
  const good = describeContacts({url: 'https://api.example.com'})
  const [contacts] = good.modules as Record<string, any>[]
  const pathsOf = (document: object) => GenericDocument.safeParse(document).error?.issues.map(({path}) => path.join('.')) ?? []
  t.deepEqual(pathsOf(good), [])
  const withModule = (more: object) => ({...good, modules: [{...contacts!, ...more}]})
  const cases: [object, string][] = [
    [{...good, baseUrl: 'https://user@api.example.com'}, 'baseUrl'],
    [{...good, baseUrl: 'https://api.example.com/?a=1'}, 'baseUrl'],
    [{...good, baseUrl: 'file:///etc/passwd'}, 'baseUrl'],
    [{...good, auth: {header: 'Host'}}, 'auth.header'],
    [{...good, auth: {header: 'X-Key\r\nX'}}, 'auth.header'],
    [{...good, renewal: 'daily at 24:00 UTC'}, 'renewal'],
    [{...good, modules: [contacts, contacts]}, 'modules.1.apiName'],
    [withModule({path: '/../admin'}), 'modules.0.path'],
    [withModule({path: '/a?b=c'}), 'modules.0.path'],
    [withModule({path: '//elsewhere.example'}), 'modules.0.path'],
    [withModule({idField: 'email'}), 'modules.0.idField'],
    [withModule({displayField: 'nothing'}), 'modules.0.displayField'],
    [withModule({fields: [...contacts!.fields, contacts!.fields[0]]}), 'modules.0.fields.4.apiName'],
    [withModule({fields: [{apiName: 'name', label: 'N', type: 'text', picklist: ['a']}]}), 'modules.0.fields.0.picklist'],
    [
      withModule({
        fields: [
          {apiName: 'name', label: 'N', type: 'text'},
          {apiName: 'ids', label: 'I', type: 'text'},
        ],
      }),
      'modules.0.fields.1.apiName',
    ],
  ]
  for (const [document, path] of cases) t.true(pathsOf(document).includes(path), `${path}: ${pathsOf(document)}`)
})
