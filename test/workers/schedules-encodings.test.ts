import anyTest, {type TestFn} from 'ava'
import {type Org, ok} from '../support/importing.ts'
import {openSchedules} from '../support/open-schedules.ts'
import {type FileHost, fire, makeTemplate, noticesOf, seldom, untilOver} from '../support/schedules.ts'
import type {TestDeployment} from '../support/test-deployment.ts'

const test = anyTest.serial as TestFn

let house: TestDeployment
let host: FileHost
let org: Org

test.before(async t => {
  ;({house, host, org} = await openSchedules(t))
})

const schedule = async (encoding?: string, more: object = {}) => {
  const slot = {slot: 'companies', label: 'Companies', columns: ['name', 'number', 'city'], ...(encoding && {reader: {encoding}})}
  const template = await makeTemplate(org, {name: `Nightly ${Math.random()}`, sources: [{...slot, ...more}]})
  const {schedule: made} = await ok(org.call('POST', `${template}/schedules`, {name: 'Nightly', ...seldom, source: host.source}), 201)
  return {id: made.id, path: `${template}/schedules/${made.id}`}
}

const serve = (bytes: Uint8Array, type = 'text/csv') => host.answer(response => void response.setHeader('content-type', type).end(bytes))

const fileOf = (prefix: string) => `name,number,city\nJörg Müller,${prefix}-1,Köln\nÄnne,${prefix}-2,Zürich\n`
const latin = (prefix: string) => Buffer.from(fileOf(prefix), 'latin1')
const damaged = (prefix: string) => Buffer.concat([Buffer.from(fileOf(prefix)), Buffer.from([0xe9]), Buffer.from(`x,${prefix}-3,Bonn\n`)])
const namesOf = (prefix: string) =>
  house.crm
    .records('example', 'Accounts')
    .flatMap((record: any) => (record.Account_Number?.startsWith(`${prefix}-`) ? [record.Account_Name] : []))

for (const [title, {prefix, bytes, encoding, type, code}] of Object.entries({
  'whose encoding cannot be detected': {
    prefix: 'h1',
    bytes: latin('h1'),
    encoding: undefined,
    type: 'text/csv',
    code: 'ENCODING_REQUIRED',
  },
  'with a bad byte': {prefix: 'h2', bytes: damaged('h2'), encoding: undefined, type: 'text/csv', code: 'BAD_BYTES'},
  'that is not in the encoding of its template': {
    prefix: 'h3',
    bytes: latin('h3'),
    encoding: 'utf-16le',
    type: 'text/csv',
    code: 'ENCODING_REQUIRED',
  },
  'that is UTF-8 although its template has another encoding': {
    prefix: 'h4',
    bytes: Buffer.from(fileOf('h4')),
    encoding: 'windows-1252',
    type: 'text/csv',
    code: 'ENCODING_REQUIRED',
  },
  'that cannot be decoded in the encoding of its template': {
    prefix: 'h5',
    bytes: latin('h5'),
    encoding: 'shift_jis',
    type: 'text/csv',
    code: 'BAD_BYTES',
  },
})) {
  test(`a scheduled file ${title} is held: nothing is written, and a notice is sent`, async t => {
    const {id, path} = await schedule(encoding)
    serve(bytes, type)
    const firing = await fire(org, path)
    t.is(firing.outcome, 'failed', JSON.stringify(firing))
    t.is(firing.reason.code, code)
    t.deepEqual(namesOf(prefix), [])
    const notices = await noticesOf(house, id)
    t.deepEqual(
      notices.map(({kind}) => kind),
      ['schedule.failed'],
    )
    t.is(notices[0]!.about.code, firing.reason.code)
    t.truthy(firing.importId, 'the file is kept for a person to decide')
    const at = `/orgs/${org.org}/imports/${firing.importId}`
    const {import: held} = await ok(org.call('GET', at), 200)
    t.is(held.state, 'ready')
    t.is((await org.call('POST', `${at}/runs`, {})).body.code, code)
  })
}

test('a schedule reads its file in the encoding of its template or the charset of the response', async t => {
  const kept = await schedule('windows-1252')
  serve(latin('k1'))
  t.is((await fire(org, kept.path)).outcome, 'done')
  const sent = await schedule()
  serve(latin('k2'), 'text/csv; charset=iso-8859-1')
  t.is((await fire(org, sent.path)).outcome, 'done')
  for (const prefix of ['k1', 'k2']) t.deepEqual(namesOf(prefix).toSorted(), ['Jörg Müller', 'Änne'])
})

test('a held file is cleaned as its template defines, and is not run again after a person chose its encoding and ran it', async t => {
  const cleaning = [{step: 'strikeWhere', expression: 'row.city === "Köln"'}]
  const {path} = await schedule(undefined, {cleaning, choices: {city: {as: 'text'}}})
  serve(latin('c1'))
  const held = await fire(org, path)
  const at = `/orgs/${org.org}/imports/${held.importId}`
  const {import: kept} = await ok(org.call('GET', at), 200)
  t.like(kept, {state: 'ready', sources: [{choices: {city: {as: 'text'}}}]})
  await ok(org.call('PATCH', `${at}/sources/${kept.sources[0].id}`, {reader: {encoding: 'windows-1252'}}), 200)
  const {run} = await ok(org.call('POST', `${at}/runs`, {}), 202)
  t.like(await untilOver(org, path, held.id), {outcome: 'done', runId: run.id, reason: null, counts: {rowsWritten: 1}})
  t.deepEqual(namesOf('c1'), ['Änne'])
  t.like(await fire(org, path), {outcome: 'unchanged'})
})

test('a held file with a misread column name stays a draft until its slot is filled again', async t => {
  const slot = {columns: ['name', 'number', 'Straße'], cleaning: [{step: 'trim', columns: ['Straße']}]}
  const {path} = await schedule('shift_jis', slot)
  serve(Buffer.from('name,number,city,Straße\nJörg Müller,c2-1,Köln,Am Tor\n', 'latin1'))
  const held = await fire(org, path)
  t.like(held, {outcome: 'failed', reason: {code: 'BAD_BYTES'}})
  const at = `/orgs/${org.org}/imports/${held.importId}`
  const {import: kept} = await ok(org.call('GET', at), 200)
  t.is(kept.state, 'draft')
  const source = kept.sources[0].id
  await ok(org.call('PATCH', `${at}/sources/${source}`, {reader: {encoding: 'windows-1252'}}), 200)
  const {import: filled} = await ok(org.call('PUT', `${at}/slots`, {companies: source}), 200)
  t.like(filled, {state: 'ready', sources: [{cleaning: slot.cleaning}]})
})
