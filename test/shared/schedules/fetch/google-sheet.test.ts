import {once} from 'node:events'
import type {IncomingMessage, ServerResponse} from 'node:http'
import {createServer} from 'node:https'
import type {AddressInfo} from 'node:net'
import test, {type ExecutionContext} from 'ava'
import {exportAddressOf, isSheetExport} from '../../../../shared/schedules/fetch/google-sheet.ts'
import {FileSource} from '../../../../shared/schedules/fetch/main.ts'
import {makeCertificate} from '../../../simulators/certificate.ts'
import {openDoor} from './fetch-fixture.ts'

const id = '1AbCdEfGhIjKlMnOpQrStUvWxYz-_0123456789'
const csv = `https://docs.google.com/spreadsheets/d/${id}/export?format=csv`

test('the link of a sheet becomes the address of its CSV export, and other addresses stay', t => {
  const link = `https://docs.google.com/spreadsheets/d/${id}`
  t.is(exportAddressOf(`${link}/edit#gid=12`), `${csv}&gid=12`)
  t.is(exportAddressOf(`${link}/edit?gid=34#gid=34`), `${csv}&gid=34`)
  t.is(exportAddressOf(`${link}/edit?usp=sharing`), csv)
  t.is(exportAddressOf(link), csv)
  t.is(exportAddressOf(`https://docs.google.com/spreadsheets/u/1/d/${id}/edit#gid=0`), `${csv}&gid=0`)
  t.is(exportAddressOf(`https://docs.google.com/a/example.com/spreadsheets/d/${id}/edit`), csv)
  t.is(exportAddressOf(`${link}/pub?gid=3`), `${csv}&gid=3`)
  const published = `https://docs.google.com/spreadsheets/d/e/2PACX-${id}/pub`
  t.is(exportAddressOf(`${published}html?gid=5&single=true`), `${published}?output=csv&gid=5&single=true`)
  t.true(isSheetExport(new URL(exportAddressOf(`${published}?output=csv`))))
  for (const other of [
    `${link}/export?format=xlsx`,
    `${published}?output=xlsx&gid=5`,
    `https://docs.google.com.evil.example/spreadsheets/d/${id}/edit`,
    'https://files.example/a.csv',
  ])
    t.is(exportAddressOf(other), other)
})

test('a source with the link of a sheet stores the address of the export', t => {
  const source = FileSource.parse({kind: 'https', url: `https://docs.google.com/spreadsheets/d/${id}/edit#gid=7`})
  t.deepEqual(source, {kind: 'https', url: `https://docs.google.com/spreadsheets/d/${id}/export`, query: 'format=csv&gid=7'})
})

test('a stored source keeps the chosen sheet of a published spreadsheet, because the source is parsed again at each use', t => {
  const published = `https://docs.google.com/spreadsheets/d/e/2PACX-${id}/pub`
  const stored = FileSource.parse({kind: 'https', url: `${published}html?gid=5&single=true`})
  t.deepEqual(stored, {kind: 'https', url: published, query: 'output=csv&gid=5&single=true'})
  t.deepEqual(FileSource.parse(stored), stored)
})

/** Opens a server for Google's hosts. `answer` gets the port, which its redirects need. */
const open = async (
  t: ExecutionContext,
  answer: (request: IncomingMessage, response: ServerResponse, port: number) => void,
  {sourceHosts = '*', privateHosts = ['docs.google.com', 'sheets.googleusercontent.com']} = {},
) => {
  const {cert, key} = makeCertificate(['docs.google.com', 'sheets.googleusercontent.com'])
  const web = createServer({cert, key}, (request, response) => answer(request, response, port))
  web.listen(0, '127.0.0.1')
  await once(web, 'listening')
  t.teardown(() => {
    web.closeAllConnections()
    web.close()
  })
  const {port} = web.address() as AddressInfo
  const places = privateHosts.map(host => `${host}:${port}`).join(',')
  const source = FileSource.parse({
    kind: 'https',
    url: `https://docs.google.com:${port}/spreadsheets/d/${id}/export?format=csv`,
    bearer: 'secret',
  })
  return {...openDoor(t, {privateHosts: places, sourceHosts, ca: cert}), source}
}

const redirect = (response: ServerResponse, location: string) => void response.writeHead(307, {location}).end()

test('the redirect of an export is followed to another host, without credentials', async t => {
  const requests: {host: string | undefined; authorization: string | undefined}[] = []
  const {fetch, source} = await open(t, ({headers}, response, port) => {
    requests.push({host: headers.host?.split(':')[0], authorization: headers.authorization})
    if (headers.host!.startsWith('docs.')) redirect(response, `https://sheets.googleusercontent.com:${port}/export/x`)
    else response.setHeader('content-disposition', 'attachment; filename="Orders.csv"').end('name\nAnn\n')
  })
  const {name, content} = await fetch(source)
  t.deepEqual([name, String(content)], ['Orders.csv', 'name\nAnn\n'])
  t.deepEqual(requests, [
    {host: 'docs.google.com', authorization: undefined},
    {host: 'sheets.googleusercontent.com', authorization: undefined},
  ])
})

const targets: [string, (port: number) => string, string, object?][] = [
  [
    'a host that the operator does not list',
    port => `https://sheets.googleusercontent.com:${port}/x`,
    'HOST_REFUSED',
    {sourceHosts: 'docs.google.com'},
  ],
  ['http', () => 'http://sheets.googleusercontent.com/x', 'HOST_REFUSED'],
  ['a private address', port => `https://sheets.googleusercontent.com:${port}/x`, 'ADDRESS_REFUSED', {privateHosts: ['docs.google.com']}],
  ['the sign-in page', () => 'https://accounts.google.com/ServiceLogin', 'SIGN_IN_REFUSED'],
]
for (const [name, targetOf, code, options] of targets)
  test(`a redirect of an export to ${name} is refused`, async t => {
    const {failure, source} = await open(t, (_, response, port) => redirect(response, targetOf(port)), options)
    t.like(await failure(source), {code})
  })

test('an export that redirects without end is given up after three redirects', async t => {
  let requests = 0
  const {failure, source} = await open(t, (request, response) => {
    requests++
    redirect(response, request.url!)
  })
  t.like(await failure(source), {code: 'REDIRECTED'})
  t.is(requests, 4)
})
