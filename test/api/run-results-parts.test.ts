import {Readable} from 'node:stream'
import test from 'ava'
import {parse} from 'csv-parse/sync'
import {openClient} from '../../api/clients/http.ts'
import {openResults} from '../../api/clients/whole-results.ts'
import {archiveAll} from '../../workers/archive.ts'
import type {HttpAnswer} from '../support/client.ts'
import {accountRows, accounts, openOrg, runImport} from '../support/importing.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['imports', 'discovery'], environment: {LEASE_SECONDS: '3'}})
  org = await openOrg(here)
})

const get = (path: string) => org.call('GET', path)
const told = ({status, body}: HttpAnswer) => ({status, code: body.code})
const cellsOf = ({text}: HttpAnswer) => parse(text, {relax_column_count: true, bom: true}) as string[][]
const drain = new AbortController().signal
const archive = () => archiveAll({...here.tools, drain})

const widen = async (path: string, source: string, csv: string) =>
  here.storage.put(
    `${org.org}/${path.split('/').at(-1)}/${source}`,
    Readable.from([Buffer.from(csv.replaceAll(/Town \d/g, 'ö'.repeat(500_000)))]),
  )

test.serial('results over 64 MB are refused with their size, and can be downloaded in parts', async t => {
  const {path, run, source} = await runImport(org, {csv: accountRows(68, 'La-'), flow: accounts})
  await widen(path, source.id, accountRows(68, 'La-'))
  const at = `${path}/results.csv?run=${run.id}`
  const {status, body} = await get(at)
  t.like({status, ...body}, {status: 413, code: 'RESULTS_TOO_LARGE', rows: 68, limit: 64 * 1024 * 1024})
  t.true(body.bytes > 68_000_000 && body.bytes < 68_020_000, `${body.bytes}`)
  t.regex(body.error, /from=1/)
  t.like(told(await get(`${at}&from=1&to=68`)), {status: 413, code: 'RESULTS_TOO_LARGE'})

  const seen: string[] = []
  for (let address: string | undefined = `${at}&from=1&bom=1`; address; ) {
    const part: HttpAnswer = await get(address)
    t.is(part.status, 200)
    seen.push(...cellsOf(part).map(([name, , , result]) => `${name} ${result}`))
    address = /<(.*)>; rel="next"/.exec(part.headers.get('link') ?? '')?.[1]
  }
  const wanted = Array.from({length: 68}, (_, n) => `Company ${n + 1} Written`)
  t.deepEqual(seen.toSorted(), ['name Result', 'name Result', ...wanted].toSorted())

  const client = openClient({base: here.url, bearer: () => org.session})
  const whole = await (await openResults(client, path.concat('/results.csv'), {query: {run: run.id, bom: 1}})).arrayBuffer()
  t.is(Buffer.from(whole).subarray(0, 3).toString('hex'), 'efbbbf')
  const lines = parse(Buffer.from(whole), {bom: true}) as string[][]
  t.deepEqual(
    lines.map(([name, , , result]) => `${name} ${result}`),
    ['name Result', ...wanted],
  )
})

test.serial('a range of rows is identical before and after archiving, and has a byte order mark only on request', async t => {
  const {path, run} = await runImport(org, {csv: accountRows(2_500, 'Ra-'), flow: accounts})
  const at = `${path}/results.csv?run=${run.id}`
  const read = async () => {
    const [whole, part, end, joined] = [
      await get(at),
      await get(`${at}&from=1200&to=1203`),
      await get(`${at}&from=2499`),
      await get(`${at}&from=2500&header=0`),
    ]
    const [header, ...lines] = cellsOf(whole)
    t.deepEqual(cellsOf(part), [header, ...lines.slice(1_199, 1_203)])
    t.deepEqual(cellsOf(end), [header, ...lines.slice(2_498)])
    t.deepEqual(cellsOf(joined), lines.slice(2_499))
    t.is(end.headers.get('link'), null)
    const start = await get(`${at}&to=2`)
    t.deepEqual(cellsOf(start), [header, ...lines.slice(0, 2)])
    t.is(start.headers.get('content-disposition'), 'attachment; filename="Test - results (part).csv"')
    return whole.text
  }
  const before = await read()
  await archive()
  t.is(await read(), before)
  const raw = async (query: string) =>
    Buffer.from(await (await fetch(`${here.url}${at}${query}`, {headers: {authorization: `Bearer ${org.session}`}})).arrayBuffer())
  t.is((await raw('')).toString('latin1', 0, 4), 'name')
  t.true((await raw('&bom=1')).equals(Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), await raw('')])))
  for (const query of ['from=0', 'from=x', 'to=-1', 'bom=2', 'from=1&from=2'])
    t.like(told(await get(`${at}&${query}`)), {status: 400, code: 'INVALID'}, query)
})
