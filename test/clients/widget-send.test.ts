import test, {type ExecutionContext} from 'ava'
import {openClient, Unreachable} from '../../api/clients/http.ts'
import {beginUpload, type Upload} from '../../api/clients/send-file.ts'
import {nameImport} from '../../api/clients/widget/imports/import-name.ts'
import {sheetsIn} from '../../api/clients/widget/imports/reading.ts'
import {isSameFile, type Send, sendFile} from '../../api/clients/widget/imports/send.ts'
import {openOrg} from '../support/importing.ts'
import {startTestDeployment} from '../support/test-deployment.ts'
import {MiB, rowsOf} from '../support/uploads.ts'
import {writeWorkbook} from '../support/workbook.ts'

/** Opens an uploader like the widget's, with Node's fetch instead of XMLHttpRequest. The parts go to a real API. */
const openSender = async (t: ExecutionContext) => {
  const here = await startTestDeployment(t, {workers: ['discovery']})
  const {org, connector, session} = await openOrg(here)
  const client = openClient({base: here.url, bearer: () => session})
  const {import: made} = await client.post(`/orgs/${org}/imports`, {name: 'Test', connectorId: connector})
  const path = `/orgs/${org}/imports/${made.id}`
  const told: number[] = []
  const calls: string[] = []
  const send: Send = async (method, where, body, {signal, onSent}) => {
    calls.push(`${method} ${where.replace(path, '').replace(/upl_\w+/, 'upl')}`)
    const {body: answer} = await client.call(method, where, {body, signal, headers: {'content-type': 'application/octet-stream'}})
    onSent(body.size)
    return answer
  }
  const state: {upload: Upload | null; isRead: boolean} = {upload: null, isRead: false}
  const telling = (signal: AbortSignal) => ({
    signal,
    onUpload: (upload: Upload) => (state.upload = upload),
    onSent: (bytes: number) => told.push(bytes),
    onRead: () => (state.isRead = true),
  })
  const api = {client, send, pause: async () => {}}
  return {client, path, api, telling, told, calls, state}
}

const fileOf = (bytes: Uint8Array, name = 'leads.csv') => new File([bytes as Uint8Array<ArrayBuffer>], name)
const never = new AbortController().signal

test('a small file is uploaded in one request and a large one in parts, and a lost answer costs no second upload', async t => {
  const {path, api, telling, told, calls, state} = await openSender(t)
  const small = fileOf(Buffer.from('Name,Mail\nAnna,a@example.com\n'))
  t.is((await sendFile(api, {path, file: small}, telling(never))).source.rows, 1)
  t.deepEqual([calls.splice(0), state.upload, state.isRead], [['POST /sources?name=leads.csv'], null, true])

  const bytes = rowsOf(8.5 * MiB)
  let isLost = false
  const send: Send = async (...sent) => {
    const answer = await api.send(...sent)
    if (isLost) return answer
    isLost = true
    throw new Unreachable('The answer was lost')
  }
  told.length = 0
  const {source} = await sendFile({...api, send}, {path, file: fileOf(bytes, 'big.csv')}, telling(never))
  t.is(source.bytes, bytes.length)
  const parts = ['PUT /uploads/upl/parts/0', `PUT /uploads/upl/parts/${8 * MiB}`]
  t.deepEqual(calls, parts, 'the server is asked where to go on: a part whose answer alone was lost is there')
  t.is(told.at(-1), bytes.length)
})

test('a paused upload resumes where the server says, and a refused file is not sent again', async t => {
  const {client, path, api, telling, calls, state} = await openSender(t)
  const file = fileOf(rowsOf(8.5 * MiB), 'big.csv')
  const stop = new AbortController()
  const send: Send = async (...sent) => {
    const answer = await api.send(...sent)
    stop.abort(new Error('paused'))
    return answer
  }
  await t.throwsAsync(sendFile({...api, send}, {path, file}, telling(stop.signal)))
  const {upload} = await client.get(`${path}/uploads/${state.upload!.id}`)
  t.is(upload.offset, 8 * MiB)
  t.true(isSameFile(upload, file))
  t.false(isSameFile(upload, fileOf(Buffer.from('x'), 'big.csv')))
  calls.length = 0
  const {source} = await sendFile(api, {path, file, upload}, telling(never))
  t.deepEqual([source.bytes, calls], [file.size, [`PUT /uploads/upl/parts/${8 * MiB}`]])

  calls.length = 0
  const empty = fileOf(Buffer.from(''))
  await t.throwsAsync(sendFile(api, {path, file: empty}, telling(never)), {name: 'ApiError'})
  t.is(calls.length, 1)
})

test('a workbook refused for its sheet can be read by another sheet, without uploading its parts twice', async t => {
  const {client, path, api, telling, calls} = await openSender(t)
  const sheets = [
    {name: 'Cover', rows: [['Report']]},
    {name: 'Data', state: 'hidden' as const, rows: [['id'], [1]]},
  ]
  const book = await writeWorkbook({sheets})
  const refused = await t.throwsAsync(sendFile(api, {path, file: fileOf(book, 'book.xlsx')}, telling(never)))
  t.deepEqual(sheetsIn(refused), [
    {name: 'Cover', state: 'visible'},
    {name: 'Data', state: 'hidden'},
  ])
  t.is((await sendFile(api, {path, file: fileOf(book, 'book.xlsx'), reader: {sheet: 'Data'}}, telling(never))).source.rows, 1)

  const upload = await beginUpload(client, `${path}/uploads`, {name: 'parts.xlsx', size: book.length})
  const parts = {path, file: fileOf(book, 'parts.xlsx'), upload}
  await t.throwsAsync(sendFile(api, parts, telling(never)), {message: /no rows below it/})
  calls.length = 0
  const whole = {...upload, offset: book.length}
  t.is((await sendFile(api, {...parts, upload: whole, reader: {sheet: 'Data'}}, telling(never))).source.rows, 1)
  t.deepEqual(calls, [])
})

test('a dropped import is named after its files', t => {
  const named = (...names: string[]) => nameImport(names.map(name => ({name})))
  t.is(named('Leads Lisbon fair.xlsx'), 'Leads Lisbon fair')
  t.is(named('orders.v2.CSV', 'lines.csv', 'notes.tsv'), 'orders.v2 and 2 more')
  t.is(named('.csv'), '.csv')
  t.is(named(`${'x'.repeat(300)}.csv`, 'b.csv').length, 200, 'the server takes at most 200 characters')
})
