import {createHash} from 'node:crypto'
import {once} from 'node:events'
import {mkdtemp, readdir, rm} from 'node:fs/promises'
import {createServer, request} from 'node:http'
import type {AddressInfo} from 'node:net'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {Readable} from 'node:stream'
import test, {type ExecutionContext} from 'ava'
import {type Code, Refusal} from '../../../shared/errors.ts'
import {type IncomingUpload, ingest} from '../../../shared/files/ingest.ts'
import {readNewFile} from '../../../shared/files/new-file.ts'
import {openStorage} from '../../../shared/storage/storage.ts'
import {writeWorkbook} from '../../support/workbook.ts'
import {collect, inPieces} from './chunks.ts'

const key = 'imports/imp_1/src_1'

const open = async (t: ExecutionContext) => {
  const directory = await mkdtemp(join(tmpdir(), 'lading-intake-'))
  t.teardown(() => rm(directory, {recursive: true, force: true}))
  const storage = openStorage({directory})
  const files = async () =>
    (await readdir(directory, {recursive: true, withFileTypes: true})).filter(entry => entry.isFile()).map(({name}) => name)
  const limits = {unpacked: 100_000_000, strings: 1_000_000}
  const take = async (body: IncomingUpload['body'], options: Partial<IncomingUpload> = {}) => {
    const upload = {body, storage, key, maxBytes: 10_000_000, ...options}
    const {found, ...taken} = await ingest(upload, file => readNewFile({storage, limits}, file))
    return {...taken, ...found}
  }
  const leavesNothing = async (body: IncomingUpload['body'], code: Code, options: Partial<IncomingUpload> = {}) => {
    const error = await t.throwsAsync(take(body, options), {instanceOf: Refusal})
    t.is(error?.code, code, error?.message)
    t.deepEqual(await files(), [])
    return error
  }
  return {storage, files, take, leavesNothing}
}

const file = `id;name;born\n${Array.from({length: 5000}, (_, index) => `${index};Jörg ${index % 7};31.12.1999`).join('\n')}\n1;2\n`

test('a body is stored, hashed and read', async t => {
  const {storage, take} = await open(t)
  for (const size of [1000, 65_536, 1_000_000]) {
    const intake = await take(inPieces(file, size))
    t.like(intake, {
      bytes: Buffer.byteLength(file),
      sha256: createHash('sha256').update(file).digest('hex'),
      reader: {encoding: 'utf-8', delimiter: ';', skipRows: 0},
      sniffed: {encoding: 'utf-8', how: 'utf-8', delimiterHow: 'counted'},
      rows: 5001,
      ragged: {count: 1, firstRow: 5001},
    })
    t.deepEqual(
      intake.columns.map(({name, kinds}) => [name, kinds]),
      [
        ['id', {integer: 5000}],
        ['name', {text: 5000}],
        ['born', {date: 5000}],
      ],
    )
    t.is(String(await collect(await storage.read(key))), file)
  }
})

test('options set by the caller override detection', async t => {
  const {take} = await open(t)
  const {reader, columns} = await take(inPieces('a;b,c\n1;2,3\n'), {reader: {delimiter: ',', headerRow: false}})
  t.like(reader, {delimiter: ','})
  t.deepEqual(
    columns.map(({samples}) => samples),
    [
      ['a;b', '1;2'],
      ['c', '3'],
    ],
  )
})

test('a failed.csv names its run, whatever the options say about its header, unless they keep its reason columns', async t => {
  const {take} = await open(t)
  const rows = [
    ['lading: row of run_1 src_1', 'lading: error', 'name'],
    ['1', 'Wrong', 'Anna'],
    ['2', 'Wrong', 'Ben'],
  ]
  const failed = rows.map(cells => `${cells.join(',')}\r\n`).join('')
  const origin = {run: 'run_1', source: 'src_1'}
  for (const reader of [{}, {headerRow: false}, {headerRow: false, skipRows: 1}, {reasons: 'remove' as const}])
    t.deepEqual((await take(inPieces(failed), {reader})).corrects, origin, JSON.stringify(reader))
  t.deepEqual((await take(inPieces(`sep=,\r\n${failed}`), {reader: {headerRow: false, skipRows: 0}})).corrects, origin)
  t.is((await take(inPieces(failed), {reader: {reasons: 'keep'}})).corrects, undefined)
  const workbook = await writeWorkbook({sheets: [{name: 'failed', rows}]})
  for (const reader of [{}, {headerRow: false}]) t.deepEqual((await take(inPieces(workbook), {reader})).corrects, origin)
})

test('apostrophes before formula-like texts are removed, even if the first one appears after 64 KiB', async t => {
  const {take} = await open(t)
  const results = `name,phone\n${'Anna,\n'.repeat(20_000)}Jörg,'+49 30 123456\n`
  for (const file of [Buffer.from(results), Buffer.from(results, 'latin1')]) {
    const {reader, rows, columns} = await take(inPieces(file))
    t.like(reader, {apostrophes: 'remove'})
    t.is(rows, 20_001)
    t.deepEqual(columns[1]?.samples, ['+49 30 123456'])
  }
  t.deepEqual((await take(inPieces(results), {reader: {apostrophes: 'keep'}})).columns[1]?.samples, ["'+49 30 123456"])
  t.false('apostrophes' in (await take(inPieces(results.replace('+', '')))).reader)
})

test('JSON records longer than the sample are read, and a single long object is refused', async t => {
  const {take, leavesNothing} = await open(t)
  const long = `{"a":"${'x'.repeat(70_000)}"}`
  t.like(await take(inPieces(`${long}\n{"a":"y"}\n`)), {rows: 2, columns: [{name: 'a'}]})
  for (const object of [`${long}\n`, `{"data":[${'{"id":1},'.repeat(150_000)}{}]}`]) await leavesNothing(inPieces(object), 'NOT_A_TABLE')
})

test('bytes after the first 64 KiB of ASCII may reveal another encoding', async t => {
  const {storage, take} = await open(t)
  const long = Buffer.from(`name\n${'Anna\n'.repeat(20_000)}Jörg\n`, 'latin1')
  for (const size of [999, 65_536, 1_000_000]) {
    const {reader, sniffed, columns} = await take(inPieces(long, size))
    t.like(reader, {encoding: 'windows-1252'})
    t.like(sniffed, {encoding: 'windows-1252', how: 'fallback'})
    t.deepEqual(columns[0]?.samples, ['Anna', 'Jörg'])
    t.deepEqual(await collect(await storage.read(key)), long)
  }
})

test('a set encoding is never changed, and invalid bytes are reported', async t => {
  const {take} = await open(t)
  const long = Buffer.from(`name\n${'Anna\n'.repeat(20_000)}Jörg\n`, 'latin1')
  const {sniffed, text} = await take(inPieces(long), {reader: {encoding: 'utf-8'}})
  t.like(sniffed, {encoding: 'utf-8', how: 'stated'})
  t.deepEqual(text?.bad, {places: 1, rows: 1, firstRows: [20_001], header: false})
})

test('a refused upload leaves nothing in storage', async t => {
  const {leavesNothing} = await open(t)
  const rows = `a,b\n${'1,2\n'.repeat(50_000)}`
  await leavesNothing(inPieces(''), 'FILE_EMPTY')
  await leavesNothing(inPieces('a,b\n'), 'FILE_NO_ROWS')
  await leavesNothing(inPieces(`${rows}"open`), 'FILE_QUOTE')
  await leavesNothing(inPieces(`${rows}\0`), 'FILE_NUL')
  await leavesNothing(inPieces(`${rows}${','.repeat(20_000)}\n`), 'UNREADABLE')
  await leavesNothing(inPieces('PK\u0003\u0004'), 'FILE_CORRUPT')
  const error = await leavesNothing(inPieces(rows), 'FILE_TOO_LARGE', {maxBytes: 100_000})
  t.is(error?.status, 413)
  t.like(error?.extra, {limit: 100_000})
})

test('an aborted upload leaves nothing in storage', async t => {
  const {leavesNothing} = await open(t)
  async function* broken() {
    yield Buffer.from(`a,b\n${'1,2\n'.repeat(50_000)}`)
    throw new Error('aborted')
  }
  await leavesNothing(broken(), 'UPLOAD_BROKEN')
  await leavesNothing(Readable.from(broken()), 'UPLOAD_BROKEN')
})

test('an upload is read no faster than it is stored and parsed', async t => {
  const {take} = await open(t)
  let [asked, most] = [0, 0]
  const pieces = 200
  async function* source() {
    yield Buffer.from('a,b\n')
    for (let piece = 0; piece < pieces; piece++) {
      asked++
      yield Buffer.from('1,2\n'.repeat(8_000))
      most = Math.max(most, process.memoryUsage().arrayBuffers)
    }
  }
  const before = process.memoryUsage().arrayBuffers
  await take(source())
  t.is(asked, pieces)
  t.true(most - before < 40_000_000, `${most - before}`)
})

test('a storage failure fails the upload and leaves nothing', async t => {
  const {files, storage, take} = await open(t)
  const full = {
    ...storage,
    put: async (_key: string, stream: AsyncIterable<Uint8Array>) => {
      for await (const _ of stream) throw new Error('no space left')
      return 0
    },
  }
  await t.throwsAsync(take(inPieces(file, 100), {storage: full}), {message: 'no space left'})
  t.deepEqual(await files(), [])
})

/** Starts a server that ingests each upload and answers with the result. */
const serve = async (t: ExecutionContext, take: (body: Readable) => Promise<unknown>) => {
  const ended: Promise<unknown>[] = []
  const server = createServer((incoming, outgoing) => {
    const end = take(incoming).then(
      () => ({status: 201, code: ''}),
      error => error,
    )
    ended.push(end)
    void end.then(({status = 500, code}) => outgoing.writeHead(status, {connection: 'close'}).end(code))
  })
  server.listen(0)
  await once(server, 'listening')
  t.teardown(() => server.close())
  return {port: (server.address() as AddressInfo).port, ended}
}

test('a refusal during an upload still reaches the client', async t => {
  const {take, files} = await open(t)
  const {port} = await serve(t, body => take(body, {maxBytes: 100_000}))
  const sending = request({port, method: 'POST'}).on('error', () => {})
  const answer = once(sending, 'response')
  Readable.from(Array.from({length: 100}, () => Buffer.alloc(64_000, 'a,b\n'))).pipe(sending)
  const [response] = await answer
  t.is(response.statusCode, 413)
  t.is(String(await collect(response)), 'FILE_TOO_LARGE')
  t.deepEqual(await files(), [])
  sending.destroy()
})

test('a client that disconnects during an upload leaves nothing in storage', async t => {
  const {take, files} = await open(t)
  const {port, ended} = await serve(t, body => take(body))
  const sending = request({port, method: 'POST'}).on('error', () => {})
  sending.write(`a,b\n${'1,2\n'.repeat(50_000)}`)
  while (!(await files()).length) await new Promise(resolve => setTimeout(resolve, 5))
  sending.destroy()
  t.like(await ended[0], {code: 'UPLOAD_BROKEN'})
  t.deepEqual(await files(), [])
})
