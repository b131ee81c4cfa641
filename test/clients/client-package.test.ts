import {execFile} from 'node:child_process'
import {mkdtemp, readFile, rm, writeFile} from 'node:fs/promises'
import {createServer} from 'node:http'
import type {AddressInfo} from 'node:net'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {fileURLToPath, pathToFileURL} from 'node:url'
import {promisify} from 'node:util'
import test from 'ava'
import {buildClient, type ClientSize} from '../../api/reference/client/build.ts'
import {routes} from '../../api/routes.ts'
import {accountRows, accounts, type Org, ok, openOrg} from '../support/importing.ts'
import {endAfterTests, startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
let house: TestDeployment
let org: Org
let folder: string
let size: ClientSize
let library: any
let lading: any

test.before(async t => {
  folder = await mkdtemp(join(tmpdir(), 'lading-client-'))
  endAfterTests(() => rm(folder, {recursive: true}))
  size = await buildClient(join(folder, 'node_modules/@lading/client'))
  library = await import(pathToFileURL(join(folder, 'node_modules/@lading/client/index.js')).href)
  house = await startTestDeployment(t, {workers: ['imports', 'discovery']})
  org = await openOrg(house)
  lading = library.openLading({server: house.url, token: org.session})
})

test('every operation of the API is a function of the client, and the size is printed', t => {
  const missing = routes.filter(({operationId}) => typeof lading[operationId] !== 'function').map(({operationId}) => operationId)
  t.deepEqual(missing, [])
  t.is(size.operations, routes.length)
  t.log(`${size.operations} operations, ${size.bytes} bytes, ${size.gzipped} compressed`)
  t.true(size.gzipped < 20 * 1024, 'the package stays small')
})

test('the package needs no other package', async t => {
  const manifest = JSON.parse(await readFile(join(folder, 'node_modules/@lading/client/package.json'), 'utf8'))
  t.is(manifest.dependencies, undefined)
  t.like(manifest, {name: '@lading/client', type: 'module'})
})

test('inputs, answers, list items and error codes have types', async t => {
  await writeFile(join(folder, 'package.json'), JSON.stringify({type: 'module'}))
  const options = {module: 'nodenext', target: 'es2022', lib: ['es2024', 'dom'], types: [], strict: true, noEmit: true}
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({compilerOptions: options, include: ['right.ts', 'wrong.ts']}))
  const head = `import {isRefusal, openLading} from '@lading/client'\nconst lading = openLading({server: 'http://127.0.0.1', token: 'x'})\n`
  const right = `${head}const {template}: {template: {id: string; version: number}} = await lading.readTemplate({org: 'o', id: 't'})
for await (const one of lading.each.listTemplates({org: 'o', limit: 10})) one.name satisfies string
await lading.readMe()
await lading.createToken({org: 'o', body: {name: template.id}})
await lading.listChanges({org: 'o', page: ['general', 'members']})
try {
  await lading.readImport({org: 'o', id: 'i'}, {signal: AbortSignal.timeout(1)})
} catch (error) {
  if (isRefusal(error, 'IMPORT_NOT_FOUND')) error.code satisfies 'IMPORT_NOT_FOUND'
}
`
  const wrong = `${head}
// @ts-expect-error a path parameter is missing
await lading.readTemplate({org: 'o'})
// @ts-expect-error no such key in the body
await lading.createToken({org: 'o', body: {name: 'n', nmae: 'n'}})
// @ts-expect-error no such field in the answer
;(await lading.readTemplate({org: 'o', id: 't'})).templates
// @ts-expect-error a single object has no pages
lading.each.readTemplate({org: 'o', id: 't'})
// @ts-expect-error no such code
isRefusal(null, 'NO_SUCH_CODE')
`
  await Promise.all([writeFile(join(folder, 'right.ts'), right), writeFile(join(folder, 'wrong.ts'), wrong)])
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  const {stdout} = await promisify(execFile)(process.execPath, [compiler, '-p', folder]).catch(({stdout}) => ({stdout}))
  t.is(stdout, '')
})

test('a file is uploaded in parts, imported and followed to its end, and the log is read over all pages', async t => {
  const place = {org: org.org}
  const {import: made} = await lading.createImport({...place, body: {name: 'By the client', connectorId: org.connector}})
  const at = {...place, id: made.id}
  const sent: number[] = []
  let upload = ''
  const file = new Blob([accountRows(1200, 'client-')])
  const onStarted = (id: string) => void (upload = id)
  const {source} = await lading.uploadFile({...at, file, name: 'rows.csv'}, {onStarted, onSent: (bytes: number) => sent.push(bytes)})
  t.is(source.rows, 1200)
  t.regex(upload, /^upl_/)
  t.is(sent.at(-1), file.size)
  await lading.setImportFlows({...at, body: [{id: 'f', sourceId: source.id, ...accounts}]})
  const {run} = await lading.runImport({...at, body: {}})
  const events = await Array.fromAsync(lading.followRun({...at, run: run.id}) as AsyncIterable<any>)
  t.is(events.at(-1)!.event, 'end')
  const entries: any[] = await Array.fromAsync(lading.each.readImportRunLog({...at, run: run.id, limit: 500}))
  t.is(entries.length, 1200)
  t.is(new Set(entries.map(({seq}) => seq)).size, 1200)
  const results = await lading.downloadResults({...at, run: run.id})
  t.is((await results.text()).trim().split('\n').length, 1201)
})

test('an upload that broke continues with its id, and sends no part twice', async t => {
  const place = {org: org.org}
  const {import: made} = await lading.createImport({...place, body: {name: 'Resumed', connectorId: org.connector}})
  const at = {...place, id: made.id}
  const file = new Blob([`name,note\n${`A,${'n'.repeat(99_000)}\n`.repeat(60)}`])
  const stop = new AbortController()
  let [upload, reached] = ['', 0]
  const onSent = (bytes: number) => {
    reached = bytes
    if (bytes > 0) stop.abort(new Error('The lid of the laptop is closed'))
  }
  const input = {...at, file, name: 'large.csv'}
  await t.throwsAsync(
    lading.uploadFile(input, {signal: stop.signal, partBytes: 2 ** 20, onStarted: (id: string) => void (upload = id), onSent}),
    {
      message: 'The lid of the laptop is closed',
    },
  )
  t.true(reached > 0 && reached < file.size)
  const sent: number[] = []
  const {source} = await lading.uploadFile({...input, upload}, {onSent: (bytes: number) => sent.push(bytes)})
  t.is(sent[0], reached, 'it begins where the first call ended')
  t.is(source.rows, 60)
})

test('a parameter with several values is sent once per value', async t => {
  await ok(org.call('PATCH', `/orgs/${org.org}/config/settings`, {embedOrigins: ['https://app.example.com']}), 200)
  await lading.createImport({org: org.org, body: {name: 'In the history', connectorId: org.connector}})
  const pagesOf = async (page: unknown) => {
    const {changes} = await lading.listChanges({org: org.org, page})
    return [...new Set(changes.map((change: any) => change.page))].toSorted()
  }
  t.deepEqual(await pagesOf('general'), ['general'])
  t.deepEqual(await pagesOf(['general', 'imports']), ['general', 'imports'])
})

test('a refusal has its code, and an aborted call throws the reason', async t => {
  const refused = await t.throwsAsync<any>(lading.readImport({org: org.org, id: 'imp_nothing'}))
  t.true(library.isRefusal(refused, 'IMPORT_NOT_FOUND'))
  t.false(library.isRefusal(refused, 'RUN_NOT_FOUND'))
  t.like(refused, {status: 404, code: 'IMPORT_NOT_FOUND'})
  const signal = AbortSignal.abort(new Error('Not wanted any more'))
  await t.throwsAsync(lading.readMe({}, {signal}), {message: 'Not wanted any more'})
  await t.throwsAsync(lading.readImport({org: org.org}), {instanceOf: TypeError, message: /needs id/})
})

test('the client waits for the Retry-After of a rate limit, and throws Unreachable if no server answers', async t => {
  const asked: number[] = []
  const server = createServer((_, response) => {
    asked.push(Date.now())
    if (asked.length > 1) return response.setHeader('content-type', 'application/json').end('{"templates":[],"nextCursor":null}')
    response.writeHead(429, {'content-type': 'application/json', 'retry-after': '1'})
    return response.end('{"error":"Too many requests","code":"RATE_LIMITED"}')
  })
  await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening))
  const client = library.openLading({server: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, token: () => 'x'})
  t.deepEqual(await client.listTemplates({org: 'o'}), {templates: [], nextCursor: null})
  t.true(asked[1]! - asked[0]! >= 1000)
  await new Promise(closed => server.close(closed))
  await t.throwsAsync(library.openLading({server: 'http://127.0.0.1:1', token: 'x'}).readMe(), {instanceOf: library.Unreachable})
})
