import anyTest, {type TestFn} from 'ava'
import {encoded} from '../shared/files/encoded-files.ts'
import {checkImport} from '../support/import-checks.ts'
import {accounts, ok, openOrg, readLog, untilEnded} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

/** The tests run serially, because they share one CRM org. */
const test = anyTest.serial as TestFn

let here: TestDeployment
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery', 'imports', 'checks']})
  org = await openOrg(here)
})

const add = async (body: Uint8Array, {query = '', type = 'text/csv'} = {}) => {
  const {import: made} = await ok(org.call('POST', `/orgs/${org.org}/imports`, {name: 'Test', connectorId: org.connector}), 201)
  const path = `/orgs/${org.org}/imports/${made.id}`
  const {source} = await ok(org.call('POST', `${path}/sources?name=test.csv${query}`, body, {'content-type': type}), 201)
  return {path, source, at: `${path}/sources/${source.id}`}
}

const addMapped = async (body: Uint8Array, how = {}) => {
  const added = await add(body, how)
  await ok(org.call('PUT', `${added.path}/flows`, [{id: 'f', sourceId: added.source.id, ...accounts}]), 200)
  return added
}

const kindsOf = ({problems}: any) => problems.map(({kind}: any) => kind)
const start = (path: string, body: object = {}) => org.call('POST', `${path}/runs`, body)
const finish = async (path: string, body: object = {}) => {
  const {run} = await ok(start(path, body), 202)
  return untilEnded(org.call, `${path}/runs/${run.id}`)
}

/** Returns the account names in the CRM whose numbers have the prefix, in the order of their creation. */
const namesOf = (prefix: string) =>
  here.crm.records('example', 'Accounts').flatMap((record: any) => (record.Account_Number?.startsWith(prefix) ? [record.Account_Name] : []))

const lines = (prefix: string, count = 30) => Array.from({length: count}, (_, n) => `Müller 東京 ${n + 1},${prefix}${n + 1},Köln`)
const utf8 = (prefix: string) => Buffer.from(`name,number,city\n${lines(prefix).join('\n')}\n`)
const damage = (bytes: Buffer, at: string) => {
  const place = bytes.indexOf(at)
  return Buffer.concat([bytes.subarray(0, place), Buffer.from([0xe9]), bytes.subarray(place)])
}

test('one invalid byte in a UTF-8 file blocks a run until accepted, but not a dry run', async t => {
  const {path, at, source} = await addMapped(damage(utf8('BAD-'), 'Müller 東京 7,'))
  t.like(source, {reader: {encoding: 'utf-8'}, sniffed: {how: 'utf-8'}, text: {bad: {places: 1, rows: 1, firstRows: [7]}}})
  t.regex(source.problems.find(({kind}: any) => kind === 'undecodable').message, /row 7/)
  const refused = await start(path)
  t.is(refused.status, 409)
  t.like(refused.body, {code: 'BAD_BYTES', source: source.id, places: 1, firstRows: [7]})
  const dry = await finish(path, {dryRun: true})
  t.is(dry.stop, null)
  const {text: plan} = await org.call('GET', `${path}/plan.csv?run=${dry.id}`)
  t.true(plan.includes('\ufffdMüller 東京 7'), plan.slice(0, 300))
  t.deepEqual(namesOf('BAD-'), [])

  const {rows} = await ok(org.call('GET', `${at}/rows?from=7&limit=1`), 200)
  t.is(rows[0].values[0], '\ufffdMüller 東京 7')

  const accepted = (await ok(org.call('PATCH', at, {reader: {badBytes: 'replace'}}), 200)).source
  t.like(accepted.reader, {encoding: 'utf-8', badBytes: 'replace'})
  t.deepEqual(kindsOf(accepted), ['lost'])
  const again = (await ok(org.call('PATCH', at, {reader: {badBytes: null}}), 200)).source
  t.true(kindsOf(again).includes('undecodable'))
  await ok(org.call('PATCH', at, {reader: {badBytes: 'replace'}}), 200)
  const run = await finish(path)
  t.is(run.stop, null)
  t.deepEqual(
    namesOf('BAD-').toSorted(),
    lines('')
      .map((_, n) => `${n === 6 ? '\ufffd' : ''}Müller 東京 ${n + 1}`)
      .toSorted(),
  )
})

test('invalid bytes accepted in one encoding are not accepted in another', async t => {
  const {at} = await add(damage(utf8('X-'), 'Müller 東京 7,'), {query: `&reader=${encodeURIComponent('{"badBytes":"replace"}')}`})
  const {source} = await ok(org.call('PATCH', at, {reader: {encoding: 'shift_jis'}}), 200)
  t.false('badBytes' in source.reader)
})

test('a file of uncertain encoding cannot run before a person chooses the encoding', async t => {
  const latin = Buffer.from('name,number,city\nJörg & Söhne,ENC-1,Köln\nÄnne,ENC-2,Zürich\n', 'latin1')
  const {path, at, source} = await addMapped(latin)
  t.like(source, {reader: {encoding: 'windows-1252'}, sniffed: {how: 'fallback'}})
  t.deepEqual(kindsOf(source), ['encoding'])
  const [first] = source.text.candidates
  t.is(first.encoding, 'windows-1252')
  t.true(first.samples.includes('Jörg & Söhne'))
  const refused = await start(path)
  t.like(refused, {status: 409, body: {code: 'ENCODING_REQUIRED', source: source.id}})
  t.is(refused.body.encodings[0], 'windows-1252')
  await ok(org.call('PATCH', at, {reader: {delimiter: ','}, label: 'Companies'}), 200)
  t.is((await start(path)).body.code, 'ENCODING_REQUIRED')

  const {problems} = await checkImport(org, path)
  t.like(problems[0], {severity: 'error', kind: 'encoding', source: source.id})

  const chosen = (await ok(org.call('PATCH', at, {reader: {encoding: 'CP1252'}}), 200)).source
  t.like(chosen, {reader: {encoding: 'windows-1252'}, sniffed: {how: 'stated'}})
  t.deepEqual(kindsOf(chosen), [])
  const run = await finish(path)
  t.is(run.stop, null)
  t.deepEqual(namesOf('ENC-').toSorted(), ['Jörg & Söhne', 'Änne'])
  t.is((await readLog(org.call, `${path}/runs/${run.id}`)).length, 2)
})

test('choosing another encoding reads the file again in that encoding', async t => {
  const {text, bytes} = encoded.find(({encoding}) => encoding === 'iso-8859-2')!
  const {at} = await add(bytes)
  await ok(org.call('PATCH', at, {reader: {encoding: 'iso-8859-2'}}), 200)
  const {rows} = await ok(org.call('GET', `${at}/rows`), 200)
  t.is(rows[0].values.join(), text.split('\n')[1])
})

test('the charset of the content type is used as encoding, and an unknown charset is refused', async t => {
  for (const {encoding, text, bytes} of encoded) {
    const {at, source} = await add(bytes, {type: `text/csv; header=present; charset="${encoding}"`})
    t.like(source, {reader: {encoding}, sniffed: {encoding, how: 'content type'}})
    t.deepEqual(kindsOf(source), [])
    const {rows} = await ok(org.call('GET', `${at}/rows`), 200)
    t.deepEqual(
      rows.map(({values}: any) => values.join()),
      text.trimEnd().split('\n').slice(1),
    )
  }
  const {path} = await add(Buffer.from('name\nAnna\n'))
  const refused = await org.call('POST', `${path}/sources?name=x.csv`, 'name\nAnna\n', {'content-type': 'text/csv; charset=klingon'})
  t.like(refused, {status: 415, body: {code: 'CHARSET_UNKNOWN'}})
})

test('a source stored before encodings were recorded is read and run as before', async t => {
  const {path, at, source} = await addMapped(utf8('OLD-'))
  const {rowCount} = await here.hot.query(`update sources set evidence = evidence - 'text' - 'sniffed' where id = $1`, [source.id])
  t.is(rowCount, 1)
  const old = (await ok(org.call('GET', at), 200)).source
  t.deepEqual(kindsOf(old), [])
  await ok(org.call('PATCH', at, {cleaning: [{step: 'trim'}]}), 200)
  const run = await finish(path)
  t.is(run.stop, null)
  t.is(namesOf('OLD-').length, 30)
})

test('a source whose encoding an earlier build assumed needs a choice of its encoding', async t => {
  const {path, at, source} = await addMapped(Buffer.from('name,number,city\nJörg,PRE-1,Köln\n', 'latin1'))
  await here.hot.query(`update sources set evidence = evidence - 'text' where id = $1`, [source.id])
  t.is((await start(path)).body.code, 'ENCODING_REQUIRED')
  await ok(org.call('PATCH', at, {reader: {encoding: 'windows-1252'}}), 200)
  t.is((await finish(path)).stop, null)
  t.deepEqual(namesOf('PRE-'), ['Jörg'])
})

const openQuoted = (prefix: string) =>
  Buffer.from(`name,number,city\nAnn,${prefix}1,"Köln\nBen,${prefix}2,Bonn\nEve,${prefix}3,"Trier"\nZoe,${prefix}4,Ulm\n`)

test('rows with an open quote are a problem until a person keeps them, which a template does not', async t => {
  const {path, at} = await addMapped(openQuoted('OQ-'))
  const {source} = await ok(org.call('GET', at), 200)
  t.like(source, {rows: 2, ragged: {count: 0}, openQuotes: {count: 1, firstRow: 1}, problems: [{kind: 'quote'}]})
  t.deepEqual(
    (await ok(org.call('GET', `${at}/rows`), 200)).rows.map(({openQuote}: {openQuote?: true}) => openQuote),
    [true, undefined],
  )
  const kept = (await ok(org.call('PATCH', at, {reader: source.problems[0].reader}), 200)).source
  t.deepEqual([kept.problems, kept.openQuotes], [[], undefined])
  const fromImport = path.split('/').at(-1)
  const {template} = await ok(org.call('POST', `/orgs/${org.org}/templates`, {fromImport, name: 'No open quotes'}), 201)
  t.false('openQuotes' in template.sources[0].reader)
})

test('the acceptance of open quotes keeps edited cells, and ends with an option that can give open quotes to other rows', async t => {
  const {at, source} = await add(openQuoted('OE-'))
  t.is(source.reader.openQuotes, 'refuse')
  const change = async (body: object, to = at) => (await ok(org.call('PATCH', to, body), 200)).source
  const {cleaning} = await change({cells: [{row: 2, column: 'city', value: 'Neu-Ulm'}]}, `${at}/cells`)
  const kept = await change({reader: {openQuotes: 'keep'}})
  t.deepEqual([kept.reader.openQuotes, kept.cleaning], ['keep', cleaning])
  t.is((await change({reader: {shortRows: 'fill'}})).reader.openQuotes, 'keep')
  t.is((await change({reader: {comment: '#'}})).reader.openQuotes, 'refuse')
  t.false('openQuotes' in (await change({reader: {openQuotes: 'keep', quote: "'"}})).reader, 'the file has no such row')
})

test('rows with an open quote of a file that an earlier build read are read and run as before, until an option changes', async t => {
  const {path, at, source} = await addMapped(openQuoted('OLDQ-'))
  await here.hot.query(`update sources set reader = reader - 'openQuotes', evidence = evidence - 'openQuotes' where id = $1`, [source.id])
  await ok(org.call('PATCH', `${at}/cells`, {cells: [{row: 1, column: 'name', value: 'Anna'}]}), 200)
  t.like(await finish(path), {stop: null, counts: {Accounts: {created: 2, failed: 0}}})
  t.deepEqual(namesOf('OLDQ-'), ['Anna', 'Zoe'])
  t.like(await ok(org.call('GET', at), 200), {source: {problems: []}})
  const changed = await ok(org.call('PATCH', at, {reader: {shortRows: 'fill'}}), 200)
  t.like(changed.source, {reader: {openQuotes: 'refuse'}, problems: [{kind: 'quote'}]})
})

test('a template keeps a chosen encoding, and not the acceptance of invalid bytes', async t => {
  const latin = Buffer.from('name,number,city\nJörg,TPL-1,Köln\n', 'latin1')
  const chosen = await addMapped(latin)
  await ok(org.call('PATCH', chosen.at, {reader: {encoding: 'windows-1252'}}), 200)
  const save = async (path: string, name: string) =>
    ok(org.call('POST', `/orgs/${org.org}/templates`, {fromImport: path.split('/').at(-1), name}), 201)
  const kept = await save(chosen.path, 'Kept encoding')
  t.like(kept.template.sources[0].reader, {encoding: 'windows-1252'})
  const damaged = await addMapped(damage(utf8('TPL2-'), 'Müller 東京 7,'))
  await ok(org.call('PATCH', damaged.at, {reader: {badBytes: 'replace'}}), 200)
  const clean = await save(damaged.path, 'No bad bytes')
  t.false('badBytes' in clean.template.sources[0].reader)
  t.false('encoding' in clean.template.sources[0].reader)

  const {import: made} = await ok(
    org.call('POST', `/orgs/${org.org}/imports`, {templateId: kept.template.id, connectorId: org.connector}),
    201,
  )
  const path = `/orgs/${org.org}/imports/${made.id}`
  const {source, filled} = await ok(
    org.call('POST', `${path}/sources?name=next.csv`, Buffer.from('name,number,city\nÄnne,TPL-3,Köln\n', 'latin1')),
    201,
  )
  t.like(source, {reader: {encoding: 'windows-1252'}, sniffed: {how: 'template'}})
  t.like(filled, {state: 'ready', issues: []})
  t.is((await finish(path)).stop, null)
  t.deepEqual(namesOf('TPL-3'), ['Änne'])
})
