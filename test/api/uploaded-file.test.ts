import {createHash, randomBytes} from 'node:crypto'
import {once} from 'node:events'
import {createServer, type IncomingMessage} from 'node:http'
import {type AddressInfo, connect} from 'node:net'
import test, {type ExecutionContext} from 'ava'
import {openUploadedFile} from '../../api/uploaded-file.ts'
import {place} from '../support/entitlements.ts'
import {openHalfRequest, readAnswer} from '../support/half-request.ts'
import {ok, openOrg} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'
import {openUpload} from '../support/uploads.ts'

let here: TestDeployment
let org: Awaited<ReturnType<typeof openOrg>>
const csv = 'id,name\r\n1,Jörg\r\n2,--x\r\n'

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery'], environment: {FILE_LIMIT_BYTES: '3000000'}})
  org = await openOrg(here)
})

const newImport = async () => {
  const {import: made} = await ok(org.call('POST', `/orgs/${org.org}/imports`, {name: 'Test', connectorId: org.connector}), 201)
  return `/orgs/${org.org}/imports/${made.id}`
}
const formOf = (...parts: [string, string | Blob, string?][]) => {
  const form = new FormData()
  for (const [name, content, fileName] of parts) content instanceof Blob ? form.append(name, content, fileName) : form.append(name, content)
  return form
}
const blob = (content: string | Uint8Array<ArrayBuffer>) => new Blob([content], {type: 'text/csv'})
const boundary = '----x'
const rawForm = (headers: string, content: string, end = `\r\n--${boundary}--\r\n`) => `--${boundary}\r\n${headers}\r\n\r\n${content}${end}`
const typed = {'content-type': `multipart/form-data; boundary=${boundary}`}
const named = 'Content-Disposition: form-data; name="file"; filename="a.csv"'
const filesOf = (path: string) => Array.fromAsync(here.storage.list(`${org.org}/${path.split('/').at(-1)}`))

const assertNothing = async (t: ExecutionContext, path: string) => {
  t.deepEqual((await ok(org.call('GET', path), 200)).import.sources, [])
  t.deepEqual(await filesOf(path), [])
}

test('a form with one part named file is read like a plain upload', async t => {
  const path = await newImport()
  const plain = (await ok(org.call('POST', `${path}/sources?name=Gr%C3%B6%C3%9Fen "a".csv`, csv), 201)).source
  const sent = (await ok(org.call('POST', `${path}/sources`, formOf(['file', blob(csv), 'dir/Größen "a".csv'])), 201)).source
  const {id: _, createdAt: _at, ...rest} = plain
  t.like(sent, {...rest, name: 'Größen "a".csv', bytes: Buffer.byteLength(csv), sha256: createHash('sha256').update(csv).digest('hex')})
  const other = await ok(org.call('POST', `${path}/sources?name=other.csv`, formOf(['file', blob(csv), 'a.csv'])), 201)
  t.is(other.source.name, 'other.csv')
  const nameless = await ok(org.call('POST', `${path}/sources`, formOf(['file', csv])), 201)
  t.like(nameless.source, {name: 'file.csv', rows: 2})
})

test('any other multipart body is refused, and nothing is stored', async t => {
  const path = await newImport()
  const refused: [string, unknown, Record<string, string>?][] = [
    ['two files', formOf(['file', blob(csv), 'a.csv'], ['file', blob(csv), 'b.csv'])],
    ['a field after', formOf(['file', blob(csv), 'a.csv'], ['comment', 'x'])],
    ['a field before', formOf(['comment', 'x'], ['file', blob(csv), 'a.csv'])],
    ['another name', formOf(['upload', blob(csv), 'a.csv'])],
    ['a large file and a field', formOf(['file', blob(csv + '3,x\n'.repeat(200_000)), 'a.csv'], ['comment', 'x'])],
    ['no part', `--${boundary}--\r\n`, typed],
    ['no header', rawForm('', csv), typed],
    ['no boundary', rawForm(named, csv), {'content-type': 'multipart/form-data'}],
    ['no form', rawForm(named, csv), {'content-type': `multipart/mixed; boundary=${boundary}`}],
    ['base64', rawForm(`${named}\r\nContent-Transfer-Encoding: base64`, btoa('a\n1\n')), typed],
  ]
  for (const [what, body, headers] of refused) {
    const {status, body: answer} = await org.call('POST', `${path}/sources`, body, headers)
    t.like({status, code: answer.code}, {status: 415, code: 'CONTENT_TYPE'}, what)
    t.regex(answer.error, /\bSend\b/, what)
  }
  await assertNothing(t, path)
  const {put} = await openUpload(org.call, path, {bytes: Buffer.from(csv)})
  t.like(await put(0, rawForm(named, csv), typed), {status: 415, body: {code: 'CONTENT_TYPE'}})
  const missing = await org.call('POST', `${path}x/sources`, formOf(['file', blob(csv.repeat(50_000)), 'a.csv']))
  t.like(missing, {status: 404, body: {code: 'IMPORT_NOT_FOUND'}})
})

test('the limits and refusals of a plain upload apply to a form', async t => {
  const path = await newImport()
  await place(here, org.org, 'free.2')
  const large = await org.call('POST', `${path}/sources`, formOf(['file', blob(csv + '3,x\n'.repeat(800_000)), 'a.csv']))
  t.like(large, {status: 413, body: {code: 'FILE_TOO_LARGE', limit: 3_000_000}})
  t.deepEqual(large.body.lift, [], 'the plan allows more than the deployment')
  const page = await org.call('POST', `${path}/sources`, formOf(['file', blob('<html><p>x</p></html>'), 'a.xls']))
  t.like(page, {status: 422, body: {code: 'NOT_A_TABLE'}})
  t.like(await org.call('POST', `${path}/sources`, formOf(['file', blob(''), 'a.csv'])), {status: 422, body: {code: 'FILE_EMPTY'}})
  await assertNothing(t, path)
})

test('a truncated form stores nothing', async t => {
  const path = await newImport()
  for (const end of ['', `\r\n--${boundary}`, `\r\n--${boundary}-`]) {
    const answer = await org.call('POST', `${path}/sources`, rawForm(named, csv.repeat(20_000), end), typed)
    t.like(answer, {status: 400, body: {code: 'UPLOAD_BROKEN'}}, JSON.stringify(end))
  }
  const {send, socket} = openHalfRequest(here.url)
  const head = `POST ${path}/sources HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${org.session}\r\ncontent-type: ${typed['content-type']}\r\ncontent-length: 900000\r\n\r\n`
  send(head + rawForm(named, csv.repeat(10_000), ''))
  await until(
    () => socket.bytesWritten,
    bytes => bytes > 200_000,
  )
  socket.destroy()
  await assertNothing(t, path)

  const half = openHalfRequest(here.url)
  half.send(
    head.replace('\r\nhost', '\r\nconnection: close\r\nhost') + rawForm('Content-Disposition: form-data; name="x"', 'never ends', ''),
  )
  const [answer] = await once(half.socket, 'data')
  t.is(readAnswer(answer).status, 415)
  half.socket.destroy()
})

/** Sends a request over HTTP and returns the result of `handle` for it. */
const receive = async <T>(write: (port: number) => void, handle: (request: IncomingMessage) => Promise<T>): Promise<T> => {
  const {promise, resolve, reject} = Promise.withResolvers<T>()
  const server = createServer((request, response) => {
    handle(request)
      .then(resolve, reject)
      .finally(() => response.end())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  write((server.address() as AddressInfo).port)
  try {
    return await promise
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

test('bytes, name and content type are those of the part, for any chunk size', async t => {
  const content = Buffer.concat([randomBytes(100_000), Buffer.from(`\r\n--${boundary.slice(0, -1)}\r\n`), randomBytes(1_000)])
  const head = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="C:\\\\t\\\\b.csv"\r\nContent-Type: text/csv; charset=shift_jis\r\n\r\n`
  const form = Buffer.concat([Buffer.from(`preamble\r\n${head}`), content, Buffer.from(`\r\n--${boundary}--\r\nepilogue`)])
  for (const size of [7, 1_000, 65_536]) {
    const write = (port: number) => {
      const socket = connect(port, '127.0.0.1').setNoDelay()
      socket.write(
        `POST / HTTP/1.1\r\nhost: x\r\ncontent-type: multipart/form-data; boundary="${boundary}"\r\ncontent-length: ${form.length}\r\n\r\n`,
      )
      for (let at = 0; at < form.length; at += size) socket.write(form.subarray(at, at + size))
    }
    await receive(write, async request => {
      const sent = await openUploadedFile(request)
      t.like(sent, {name: 'b.csv', contentType: 'text/csv; charset=shift_jis'})
      t.true(Buffer.concat(await sent.body.toArray()).equals(content), `${size}`)
    })
  }
})

test('a file in a form is read no faster than it is consumed', async t => {
  const mebibyte = Buffer.alloc(1024 ** 2, 'x')
  let written = 0
  const write = (port: number) => {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    socket.write(`POST / HTTP/1.1\r\nhost: x\r\ncontent-type: ${typed['content-type']}\r\ntransfer-encoding: chunked\r\n\r\n`)
    const part = `--${boundary}\r\n${named}\r\n\r\n`
    socket.write(`${part.length.toString(16)}\r\n${part}\r\n`)
    const more = () => {
      for (; written < 64; written++) if (!socket.write(Buffer.concat([Buffer.from('100000\r\n'), mebibyte, Buffer.from('\r\n')]))) return
    }
    socket.on('drain', more)
    more()
  }
  await receive(write, async request => {
    const {body} = await openUploadedFile(request)
    const iterator = body[Symbol.asyncIterator]()
    await iterator.next()
    const read: number[] = [0]
    const look = () => read.push(request.socket.bytesRead)
    await until(look, () => read.at(-1) === read.at(-2))
    t.true(read.at(-1)! < 4 * mebibyte.length, `${read}`)
    request.destroy()
    await t.throwsAsync(body.toArray(), {code: 'UPLOAD_BROKEN'})
  })
})
