import {once} from 'node:events'
import {Readable} from 'node:stream'
import test from 'ava'
import {z} from 'zod'
import {finishUpload} from '../../shared/files/uploads/finish.ts'
import {sql} from '../../sql/database.ts'
import {place} from '../support/entitlements.ts'
import {openHalfRequest} from '../support/half-request.ts'
import {ok, openOrg} from '../support/importing.ts'
import {leadsCsv, makeTemplate, openTemplates} from '../support/templates.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'
import {digestOf, MiB, openUpload, rowsOf} from '../support/uploads.ts'

let here: TestDeployment
let org: Awaited<ReturnType<typeof openOrg>>
const large = rowsOf(2.5 * MiB)

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery']})
  org = await openOrg(here)
})

const newImport = async ({call, org: of, connector}: Pick<typeof org, 'call' | 'org' | 'connector'> = org) => {
  const {import: made} = await ok(call('POST', `/orgs/${of}/imports`, {name: 'Test', connectorId: connector}), 201)
  return `/orgs/${of}/imports/${made.id}`
}

const begin = async (given: Partial<Parameters<typeof openUpload>[2]> = {}) => {
  const path = await newImport()
  return {path, ...(await openUpload(org.call, path, {bytes: large, ...given}))}
}

const outcome = ({status, body}: {status: number; body: any}) => [status, body.code ?? null]
const Keys = z.object({key: z.string()})
const of = (path: string) => `%${path.split('/').at(-1)}%`
const stored = async (path: string) => {
  const keys: string[] = []
  for await (const {key} of here.storage.list(path.slice(1).replace('orgs/', '').replace('/imports', ''))) keys.push(key)
  return keys
}
const loose = (path: string) => here.db.anyFirst(sql.type(Keys)`select key from loose_objects where not doomed and key like ${of(path)}`)
const doomed = (path: string) => here.db.anyFirst(sql.type(Keys)`select key from loose_objects where doomed and key like ${of(path)}`)

test('a file uploaded in parts becomes the same source as one uploaded whole', async t => {
  const {path, upload, at, send, read, finish} = await begin({label: 'Companies', name: 'companies.csv'})
  t.like(upload, {size: large.length, offset: 0, partBytes: 8 * MiB, leastPartBytes: MiB, source: null, slot: null})
  t.is(Date.parse(upload.expiresAt) - Date.parse(upload.createdAt), 86_400_000)
  t.is((await ok(send(0), 200)).upload.offset, MiB)
  t.is((await ok(send(MiB, 1.25 * MiB), 200)).upload.offset, 2.25 * MiB)
  t.like(await read(), {offset: 2.25 * MiB})
  t.deepEqual((await ok(org.call('GET', `${path}/uploads`), 200)).uploads, [await read()])
  t.is((await ok(send(2.25 * MiB), 200)).upload.offset, large.length)

  const {source} = await ok(finish(), 201)
  const {source: whole} = await ok(org.call('POST', `${path}/sources?name=companies.csv&label=Companies`, large), 201)
  t.deepEqual({...source, id: null, createdAt: null}, {...whole, id: null, createdAt: null})
  t.deepEqual((await ok(finish(), 201)).source, source)
  t.like(await read(), {source: source.id, offset: large.length})
  t.deepEqual((await ok(org.call('GET', `${path}/uploads`), 200)).uploads, [])
  t.deepEqual([(await doomed(path)).length, await loose(path)], [3, []], 'its parts are to be removed')
  t.is((await ok(send(MiB), 200)).upload.source, source.id, 'a late part')

  await ok(org.call('DELETE', at), 200)
  t.deepEqual(outcome(await finish()), [404, 'UPLOAD_NOT_FOUND'])
  t.deepEqual((await ok(org.call('GET', `${path}/sources/${source.id}`), 200)).source, source)
})

test('a repeated part returns the next offset; a gap and an invalid part are refused and store nothing', async t => {
  const {path, put, send, read, finish, upload} = await begin()
  const other = Buffer.alloc(MiB, 'x')
  const gap = await put(MiB, other)
  t.deepEqual([...outcome(gap), gap.body.offset, gap.body.size], [409, 'UPLOAD_OFFSET', 0, large.length])
  for (const [body, status, code, headers] of [
    ['', 400, 'INVALID'],
    [other.subarray(1), 400, 'INVALID'],
    [large.subarray(0, MiB), 400, 'DIGEST_MISMATCH', {'content-digest': digestOf(other)}],
    [large.subarray(0, MiB), 400, 'INVALID', {'content-digest': 'sha-256=nothing'}],
    [Buffer.concat([large, other]), 400, 'INVALID'],
  ] as const)
    t.deepEqual(outcome(await put(0, body as Buffer, headers)), [status, code])
  t.deepEqual(outcome(await put(-1, other)), [400, 'INVALID'])
  t.deepEqual([await stored(path), await loose(path), await doomed(path)], [[], [], []])

  const digest = {'content-digest': `sha-512=:AA==:, ${digestOf(large.subarray(0, MiB))}`}
  t.is((await ok(put(0, large.subarray(0, MiB), digest), 200)).upload.offset, MiB)
  const early = await finish()
  t.deepEqual([...outcome(early), early.body.offset], [409, 'UPLOAD_INCOMPLETE', MiB])
  t.is((await ok(send(0), 200)).upload.offset, MiB)
  t.is((await ok(put(4096, other), 200)).upload.offset, MiB, 'and not read: what is kept stays')
  t.is((await stored(path)).length, 1)
  t.is((await ok(send(MiB, 1.5 * MiB), 200)).upload.offset, 2.5 * MiB)
  t.is((await ok(send(2.5 * MiB), 200)).upload.offset, large.length)
  t.deepEqual(outcome(await put(large.length + 1, other)), [409, 'UPLOAD_OFFSET'])
  t.is((await ok(put(large.length, other), 200)).upload.offset, large.length)
  t.is((await ok(finish(), 201)).source.bytes, large.length)
  t.is((await read()).id, upload.id)
})

test('a part over the maximum size is refused', async t => {
  const {put, read} = await begin({size: 20 * MiB})
  t.deepEqual(outcome(await put(0, Buffer.alloc(8 * MiB + 1))), [413, 'BODY_TOO_LARGE'])
  t.is((await read()).offset, 0)
})

test('a part cut off by its connection is not stored, and the upload resumes where it stopped', async t => {
  const {path, at, send, sendRest, read, finish} = await begin()
  await ok(send(0), 200)
  const head = (more: string) => `PUT ${at}/parts/${MiB} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${org.session}\r\n${more}\r\n\r\n`
  for (const [more, sent] of [
    [`content-length: ${MiB}`, large.subarray(MiB, 1.75 * MiB)],
    ['transfer-encoding: chunked', Buffer.from('5\r\nhello\r\n')],
  ] as const) {
    const half = openHalfRequest(here.url)
    half.send(head(more))
    half.send(sent)
    await until(
      () => loose(path),
      keys => keys.length === 1,
    )
    half.socket.destroy()
    await until(
      () => loose(path),
      keys => keys.length === 0,
    )
  }
  t.like(await read(), {offset: MiB})
  t.is((await stored(path)).length, 1)
  await sendRest()
  t.is((await ok(finish(), 201)).source.bytes, large.length)
})

test('concurrent senders store a part once, and concurrent finishers make one source', async t => {
  const {path, send, put, sendRest, finish} = await begin()
  const sent = await Promise.all(Array.from({length: 6}, () => send(0)))
  t.deepEqual(
    sent.map(({status, body}) => [status, body.upload.offset]),
    sent.map(() => [200, MiB]),
  )
  t.deepEqual([(await stored(path)).length, await loose(path)], [1, []])
  await Promise.all([sendRest(), sendRest()])
  const finished = await Promise.all([finish(), put(0, 'late'), finish(), send(MiB), finish()])
  t.deepEqual(
    finished.map(({status}) => status),
    [201, 200, 201, 200, 201],
  )
  const ids = [finished[0], finished[2], finished[4]].map(one => one!.body.source.id)
  t.is(new Set(ids).size, 1)
  const {import: of} = await ok(org.call('GET', path), 200)
  t.is(of.sources.length, 1)
  const files = (await stored(path)).filter(key => /src_\w+$/.test(key))
  t.is(files.length, 1, 'nobody else left a file')
})

test('a refused file stays uploaded until the upload is cancelled', async t => {
  const {path, at, sendRest, finish, read} = await begin({bytes: Buffer.from('a,b\n1,"2\n'), reader: {strictQuotes: true}})
  await sendRest()
  for (let again = 0; again < 2; again++) t.is((await finish()).body.code, 'FILE_QUOTE')
  t.like(await read(), {source: null})
  await ok(org.call('DELETE', at), 200)
  t.is((await doomed(path)).length, 1)
  const empty = await openUpload(org.call, path, {bytes: Buffer.alloc(0)})
  t.is((await empty.finish()).body.code, 'FILE_EMPTY')
})

test('a refused upload can be finished with another reader without uploading again', async t => {
  const {path, at, sendRest, read} = await begin({bytes: Buffer.from('a,b\n1,"2\n'), reader: {strictQuotes: true}})
  await sendRest()
  const finish = (body: object) => org.call('POST', `${at}/finish`, body)
  t.deepEqual(outcome(await finish({})), [422, 'FILE_QUOTE'])
  t.deepEqual(outcome(await finish({slot: 'none'})), [400, 'INVALID'])
  t.deepEqual(outcome(await finish({sheet: 'A sheet'})), [400, 'INVALID'])
  t.deepEqual(outcome(await finish({name: 'other.csv'})), [400, 'INVALID'])
  const {source} = await ok(finish({reader: {quote: null}}), 201)
  t.is(source.reader.quote, null)
  t.deepEqual((await ok(finish({reader: {delimiter: ';'}}), 201)).source, source, 'once finished it is what it is')
  t.is((await read()).source, source.id)
  t.is((await stored(path)).length, 2)
})

test('a file refused at its beginning is not read to its end', async t => {
  const {path, upload, sendRest} = await begin({bytes: Buffer.concat([Buffer.from('%PDF-1.7\n'), large])})
  await sendRest()
  const opened: Readable[] = []
  let bytes = 0
  const storage = {
    ...here.tools.storage,
    async read(key: string) {
      const part = await here.tools.storage.read(key)
      const counted = async function* () {
        for await (const chunk of part) {
          bytes += chunk.length
          yield chunk
        }
      }
      opened.push(part)
      return Readable.from(counted(), {objectMode: false})
    },
  }
  const place = {org: org.org, importId: path.split('/').at(-1)!, uploadId: upload.id}
  await t.throwsAsync(finishUpload({...here.tools, storage}, place), {message: /PDF/})
  const [part] = opened
  if (!part!.closed) await once(part!, 'close')
  t.true(bytes < MiB, `${bytes} bytes`)
  t.is(opened.length, 1)
})

test('concurrent finishers read a file once per process, and of two processes one makes the source', async t => {
  const {path, upload, sendRest} = await begin()
  await sendRest()
  let reads = 0
  const storage = {
    ...here.tools.storage,
    read: (key: string) => {
      reads++
      return here.tools.storage.read(key)
    },
  }
  const tools = {...here.tools, storage}
  const place = {org: org.org, importId: path.split('/').at(-1)!, uploadId: upload.id}
  const busy = finishUpload(tools, place)
  await t.throwsAsync(finishUpload(tools, place, {reader: {delimiter: ';'}}), {message: /finishing this upload/})
  const asked = await Promise.all([busy, ...Array.from({length: 9}, () => finishUpload(tools, place))])
  t.is(reads, 3, 'each part once')
  t.is(new Set(asked.map(({source}) => source.id)).size, 1)

  const again = await openUpload(org.call, path, {bytes: large})
  await again.sendRest()
  const address: string = new URL('../../shared/files/uploads/finish.ts?another-process', import.meta.url).href
  const other: {finishUpload: typeof finishUpload} = await import(address)
  const both = {...place, uploadId: again.upload.id}
  const [one, same] = await Promise.all([finishUpload(here.tools, both), other.finishUpload(here.tools, both)])
  t.is(one.source.id, same.source.id)
  t.is((await stored(path)).filter(key => /src_\w+$/.test(key)).length, 2, 'the other left no file')
})

test('errors that would fail the finish are refused at the start of an upload', async t => {
  const path = await newImport()
  const post = (body: object) => org.call('POST', `${path}/uploads`, {name: 'a.csv', size: 1, ...body})
  for (const body of [{size: -1}, {size: 1.5}, {name: ''}, {slot: 'none'}, {reader: {delimiter: ';;'}}, {more: 1}])
    t.deepEqual(outcome(await post(body)), [400, 'INVALID'], JSON.stringify(body))
  t.deepEqual(outcome(await post({size: here.config.FILE_LIMIT_BYTES + 1})), [413, 'FILE_TOO_LARGE'])

  for (let n = 0; n < 10; n++) await ok(post({}), 201)
  t.deepEqual(outcome(await post({})), [409, 'UPLOAD_LIMIT'])
  const {uploads} = await ok(org.call('GET', `${path}/uploads`), 200)
  await ok(org.call('DELETE', `${path}/uploads/${uploads[0].id}`), 200)
  await ok(post({}), 201)

  await here.db.query(sql.unsafe`update imports set state = 'expired', expired_at = now() where id = ${path.split('/').at(-1)!}`)
  t.deepEqual(outcome(await post({})), [410, 'FILE_GONE'])
  t.deepEqual(outcome(await org.call('GET', `${path}/uploads/${uploads[1].id}`)), [410, 'FILE_GONE'])
})

test('an upload has the file limit of the plan, and all open uploads of an org twenty times that', async t => {
  const other = await openTemplates(here)
  await place(here, other.org, 'free.2')
  const {limits} = await ok(other.call('GET', '/entitlements/me'), 200)
  const large = await other.call('POST', `${await newImport(other)}/uploads`, {name: 'a.csv', size: limits.fileBytes + 1})
  t.like(large, {status: 413, body: {code: 'FILE_TOO_LARGE', lift: [{by: 'trial'}, {by: 'plan', planKey: 'team'}]}}, large.text)
  const liftFor = async (size: number) => (await other.call('POST', `${await newImport(other)}/uploads`, {name: 'a.csv', size})).body.lift
  t.like(await liftFor(here.config.FILE_LIMIT_BYTES), [{by: 'plan', planKey: 'business'}])
  t.deepEqual(await liftFor(here.config.FILE_LIMIT_BYTES + 1), [], 'no plan lifts the limit of the deployment')
  const codes: unknown[] = []
  for (let n = 0; n < 3; n++) {
    const path = await newImport(other)
    const begun = Array.from({length: 8}, () => other.call('POST', `${path}/uploads`, {name: 'a.csv', size: limits.fileBytes}))
    codes.push(...(await Promise.all(begun)).map(({status}) => status))
  }
  t.deepEqual([codes.filter(code => code === 201).length, codes.filter(code => code === 409).length], [20, 4])
})

test('a file for a template slot fills it, and a repeated finish returns the same, even after a crash', async t => {
  const {org: of, call} = await openTemplates(here)
  const template = await makeTemplate(call, of)
  const {import: made} = await ok(
    call('POST', `/orgs/${of}/imports`, {templateId: template.id, connectorId: await connectorOf(call, of)}),
    201,
  )
  const path = `/orgs/${of}/imports/${made.id}`
  const {upload, sendRest, finish} = await openUpload(call, path, {bytes: Buffer.from(leadsCsv)})
  await sendRest()
  const answer = await ok(finish(), 201)
  t.deepEqual(answer.filled, {slot: 'leads', state: 'ready', waiting: [], issues: []})
  t.is(answer.source.label, 'Leads')
  t.deepEqual(await ok(finish(), 201), answer)
  await here.db.query(sql.unsafe`update uploads set settled = false, filled = null where id = ${upload.id}`)
  const {source, filled} = await ok(finish(), 201)
  t.deepEqual([source.id, filled], [answer.source.id, answer.filled])
  await ok(call('DELETE', `${path}/sources/${source.id}`), 200)
  t.deepEqual(outcome(await finish()), [404, 'SOURCE_NOT_FOUND'])
})

const connectorOf = async (call: typeof org.call, of: string) => (await ok(call('GET', `/orgs/${of}/connectors`), 200)).connectors[0].id
