import {once} from 'node:events'
import {createServer} from 'node:http'
import type {AddressInfo} from 'node:net'
import test, {type ExecutionContext} from 'ava'
import type {Switches} from './crm/switches.ts'
import {readZip, writeZip} from './crm/zip-file.ts'
import {openCrm} from './crm-caller.ts'

const path = '/crm/bulk/v8/write'
const json = {'content-type': 'application/json'}

// The facts are from the vendor's OpenAPI of bulk writes and uploads, and from its pages of bulk write.

const openBulk = async (t: ExecutionContext, switches: Partial<Switches> = {}) => {
  const opened = await openCrm(t, {switches: {bulkSeconds: 0, bulkRowMs: 0, ...switches}})
  const {crm, call} = opened
  const {accessToken} = crm.grant({email: 'ana@example.org'})
  const authorization = `Zoho-oauthtoken ${accessToken}`
  const {zgid} = (await call('GET', 'org')).body.org[0]
  const send = async (bytes: Buffer, headers: Record<string, string> = {feature: 'bulk-write', 'X-CRM-ORG': zgid}) => {
    const body = new FormData()
    body.append('file', new Blob([new Uint8Array(bytes)]), 'rows.zip')
    const answer = await fetch(`${crm.url}/content/crm/v8/upload`, {method: 'POST', headers: {authorization, ...headers}, body})
    return {status: answer.status, body: (await answer.json()) as any}
  }
  const upload = async (csv: string) => (await send(writeZip([{name: 'rows.csv', bytes: Buffer.from(csv)}]))).body.details.file_id as string
  const start = async (csv: string, {operation = 'insert', module = 'Orders', ...resource}: Record<string, unknown>, more: object = {}) => {
    const file = {type: 'data', module: {api_name: module}, file_id: await upload(csv), file_names: ['rows.csv'], ...resource}
    return call('POST', path, {operation, resource: [file], ...more}, json)
  }
  const state = async (id: string) => (await call('GET', `${path}/${id}`)).body
  const results = async (id: string) => {
    const {download_url} = (await state(id)).result
    const answer = await fetch(new URL(download_url, crm.url), {headers: {authorization}})
    if (answer.status !== 200) return answer.status
    return readZip(Buffer.from(await answer.arrayBuffer()))![0]!
      .bytes.toString()
      .trimEnd()
      .split('\r\n')
  }
  const write = async (csv: string, about: Record<string, unknown>, more: object = {}) => {
    const {body} = await start(csv, about, more)
    return body.code === 'SUCCESS'
      ? {id: body.details.id as string, lines: await results(body.details.id)}
      : {id: body.code as string, lines: []}
  }
  return {...opened, send, start, state, results, write}
}

const columns = (...names: (string | object)[]) => ({
  field_mappings: names.map((name, index) => (typeof name === 'string' ? {api_name: name, index} : {index, ...name})),
})

test('an insert converts the cells by type and format, and answers the first three columns with the result of each row', async t => {
  const {crm, state, write} = await openBulk(t)
  const [account] = crm.create('example', 'Accounts', [{Account_Name: 'Acme'}])
  const csv = [
    'key,name,channels,date,due,paid,amount,account,note',
    `"k1","One, two","Web;Shop","2026-03-05","05/03/2026 10:00:00","true","2.5","Acme","x"`,
    `k2,Two,,2026-13-05,,maybe,many,,`,
    `k3,,,,,,,,`,
  ].join('\n')
  const {id, lines} = await write(csv, {
    find_by: 'Code',
    ...columns(
      'Code',
      'Name',
      'Channels',
      {api_name: 'Order_Date', format: 'yyyy-MM-dd'},
      {api_name: 'Due_At', format: 'dd/MM/yyyy HH:mm:ss'},
      'Paid',
      'Amount',
      {
        api_name: 'Account',
        find_by: 'Account_Name',
      },
    ),
  })
  const [one, ...others] = crm.records('example', 'Orders')
  t.deepEqual(others, [])
  t.like(one, {Code: 'k1', Name: 'One, two', Channels: ['Web', 'Shop'], Order_Date: '2026-03-05', Paid: true, Amount: 2.5})
  t.is(one!.Due_At, '2026-03-05T10:00:00+01:00', 'in the time zone of the user')
  t.is(one!.Account.id, account!.details.id)
  t.deepEqual(lines, [
    'key,name,channels,STATUS,RECORD_ID,ERRORS',
    `k1,"One, two",Web;Shop,ADDED,${one!.id},`,
    'k2,Two,,SKIPPED,,"INVALID_DATA-Order_Date,Paid,Amount"',
    'k3,,,SKIPPED,,MANDATORY_NOT_FOUND-Name',
  ])
  t.like(await state(id), {
    status: 'COMPLETED',
    operation: 'insert',
    resource: [{file: {added_count: 1, skipped_count: 2, total_count: 3}}],
  })
})

test('insert skips rows of records that exist, update never creates, and upsert does both', async t => {
  const {crm, write} = await openBulk(t)
  const [made] = crm.create('example', 'Orders', [{Name: 'One', Code: 'a', Short: 'kept'}])
  const id = String(made!.details.id)
  const by = {find_by: 'Code', ...columns('Code', 'Name')}
  const statuses = (lines: unknown) => (lines as string[]).slice(1).map(line => line.split(',').slice(2))
  const inserted = await write('Code,Name\nA,Changed\nb,Two', by)
  t.deepEqual(statuses(inserted.lines)[0], ['SKIPPED', '', 'DUPLICATE_DATA-Code'])
  t.is(statuses(inserted.lines)[1]![0], 'ADDED')
  const updated = await write('Code,Name\na,Changed\nc,Three', {operation: 'update', ...by})
  t.deepEqual(statuses(updated.lines), [
    ['UPDATED', id, ''],
    ['SKIPPED', '', 'RESOURCE_NOT_FOUND-Code'],
  ])
  const upserted = await write('Code,Name\na,Again\nc,Three\nc,Four', {operation: 'upsert', ...by})
  t.deepEqual(
    statuses(upserted.lines).map(([status]) => status),
    ['UPDATED', 'ADDED', 'UPDATED'],
  )
  t.deepEqual(
    crm.records('example', 'Orders').map(({Code, Name, Short}) => [Code, Name, Short]),
    [
      ['a', 'Again', 'kept'],
      ['b', 'Two', null],
      ['c', 'Four', null],
    ],
  )
  await write(`id,Short\n${id},`, {operation: 'update', find_by: 'id', ignore_empty: true, ...columns('id', 'Short')})
  t.is(crm.record('example', 'Orders', id)!.Short, 'kept')
  await write(`id,Short\n${id},`, {operation: 'update', find_by: 'id', ...columns('id', 'Short')})
  t.is(crm.record('example', 'Orders', id)!.Short, null, 'an empty cell clears the field')
})

test('wrong requests are refused when the job is created', async t => {
  const {crm, start, send, call} = await openBulk(t, {bulkRows: 2})
  const code = async (csv: string, about: Record<string, unknown>, more: object = {}) => (await start(csv, about, more)).body.code
  const by = {find_by: 'Code', ...columns('Code', 'Name')}
  t.is(await code('Code,Name', {operation: 'update', ...columns('Code', 'Name')}), 'MANDATORY_NOT_FOUND')
  t.is(await code('Code,Name', {find_by: 'Code', ...columns('Code')}), 'MANDATORY_FIELDS_NOT_MAPPED')
  t.is(await code('Code', by), 'COLUMN_INDEX_NOT_FOUND')
  t.is(await code('Code,Name', {find_by: 'Code', ...columns('Code', 'Total')}), 'INVALID_FIELD')
  t.is(await code('Code,Name', {find_by: 'Code', ...columns('Code', {api_name: 'Name', format: 'yyyy'})}), 'INVALID_FORMAT')
  t.is(
    await code('Code,Name,Account', {find_by: 'Code', ...columns('Code', 'Name', 'Account')}),
    'MANDATORY_NOT_FOUND',
    'a link needs find_by',
  )
  t.is(await code('Code,Name\n1,1\n2,2\n3,3', by), 'LIMIT_EXCEEDED')
  t.is(await code('Code,Name', {...by, file_id: '9'}), 'FILE_NOT_FOUND')
  t.is(await code('Code,Name', {...by, file_names: ['other.csv']}), 'FILE_NOT_SUPPORTED')
  t.is(await code('Code,Name', {...by, module: 'Nothing'}), 'MODULE_NOT_AVAILABLE')
  t.is(await code('Code,Name', by, {callback: {url: 'ftp://x', method: 'post'}}), 'INVALID_CALLBACK_URL')
  t.is(await code(Array(201).fill('x').join(','), by), 'HEADER_LIMIT_EXCEEDED')
  t.like(await send(Buffer.from('no zip')), {status: 400, body: {code: 'INVALID_FILE_FORMAT'}})
  t.like(await send(Buffer.from('no zip'), {feature: 'bulk-write', 'X-CRM-ORG': '1'}), {status: 400, body: {ERROR_CODE: 400}})
  t.is((await call('POST', 'upload')).status, 404, 'the API host takes no files')
  t.is((await call('GET', `${path}/4400001000000000009`)).body.code, 'RESOURCE_NOT_FOUND')
  t.is(crm.count('example', 'Orders'), 0)
})

test('without mappings the header names the fields', async t => {
  const {crm, write} = await openBulk(t)
  const [account] = crm.create('example', 'Accounts', [{Account_Name: 'Acme'}])
  await write(`Name;Code;Account.id\nOne;a;${account!.details.id}`, {})
  t.like(crm.records('example', 'Orders')[0]!, {Name: 'One', Code: 'a', Account: {name: 'Acme'}})
})

test('a job runs on the clock, costs 500 credits, runs automations only by its switch, and posts its state back', async t => {
  const {crm, start, state, results} = await openBulk(t, {bulkSeconds: 60, bulkRowMs: 1})
  const posted: string[] = []
  const listener = createServer(async (request, answer) => {
    posted.push(Buffer.concat(await Array.fromAsync(request)).toString())
    answer.end()
    listener.emit('posted')
  }).listen(0, '127.0.0.1')
  t.teardown(() => listener.close())
  await once(listener, 'listening')
  const url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}/secret`
  const by = {find_by: 'Code', ...columns('Code', 'Name')}
  const used = crm.credits('example').used
  const {body} = await start('Code,Name\na,One', by, {callback: {url, method: 'post'}})
  t.is(crm.credits('example').used - used, 501, 'with the upload')
  const id = body.details.id
  crm.clock.advance(59_000)
  t.is((await state(id)).status, 'INPROGRESS')
  t.is(crm.count('example', 'Orders'), 0)
  crm.clock.advance(2_000)
  const arrived = once(listener, 'posted')
  t.is((await state(id)).status, 'COMPLETED')
  await arrived
  t.like(JSON.parse(posted[0]!), {id, status: 'COMPLETED', callback: {url}})
  t.deepEqual(crm.automations().at(-1)!.ran, [])
  crm.setSwitches({bulkAutomations: true})
  const next = (await start('Code,Name\nb,One', by)).body.details.id
  crm.clock.advance(61_000)
  await state(next)
  t.true(crm.automations().at(-1)!.ran.includes('workflow'))
  crm.setSwitches({bulkResultUrl: 'relative', accessTokenSeconds: 1_000_000})
  t.is(((await results(next)) as string[]).length, 2)
})

test('on request jobs fail, skip or leave rows, and results are reordered, short, gone or on another host', async t => {
  const {crm, start, state, results} = await openBulk(t)
  const by = {find_by: 'Code', ...columns('Code', 'Name')}
  const begin = async (action: Parameters<typeof crm.faults.add>[0]['action'], csv: string) => {
    crm.faults.add({match: {path, method: 'POST'}, action})
    return (await start(csv, by)).body.details.id as string
  }
  const failed = await state(await begin('bulkFailure', 'Code,Name\na,One'))
  t.is(failed.status, 'FAILED')
  t.is(failed.result, undefined)
  const skipped = await begin('bulkSkipped', 'Code,Name\na,One')
  t.is(((await results(skipped)) as string[])[1], 'a,One,SKIPPED,,CANNOT_PROCESS-id')
  const left = await begin({type: 'bulkUnprocessed', rows: 1}, 'Code,Name\nb,Two\nc,Three')
  t.like(await state(left), {resource: [{file: {added_count: 1, total_count: 1}}]})
  const change = async (change: 'reversed' | 'short' | 'doubled' | 'gone') => {
    crm.faults.add({match: {path: '/v2/crm/**'}, action: {type: 'bulkResult', change}})
    const lines = await results(left)
    return typeof lines === 'number' ? lines : lines.slice(1).map(line => line[0])
  }
  t.deepEqual(await change('reversed'), ['c', 'b'])
  t.deepEqual(await change('short'), ['b'])
  t.deepEqual(await change('doubled'), ['b', 'c', 'b'])
  t.is(await change('gone'), 404)
  crm.faults.add({match: {path: `${path}/*`}, action: {type: 'resultHost', origin: 'https://elsewhere.test'}})
  t.regex((await state(left)).result.download_url, /^https:\/\/elsewhere\.test\/download\/v2\//)
  crm.clock.advance(8 * 24 * 3600_000)
  t.is(crm.count('example', 'Orders'), 1)
})
