import test from 'ava'
import {openCalls} from '../support/client.ts'
import {accountRows, type Org, ok, openOrg} from '../support/importing.ts'
import {endAfterTests, startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {costly, costlyCleaning, measureTurns, mostMs, turnLimitMs, wide} from '../support/turns.ts'
import {startWatchedApi, type WatchedApi} from '../support/watched-api.ts'
import {writeWorkbook} from '../support/workbook.ts'

let here: TestDeployment
let org: Org
let api: WatchedApi

const started = (environment: Record<string, string> = {}) => {
  const {DATABASE_URL = '', STORAGE_DIR, ADMIN_TOKEN = ''} = here.config
  const same = {NODE_ENV: 'test', DATABASE_URL, STORAGE_DIR, ADMIN_TOKEN, CRM_STANDIN_URL: here.crm.url, LOG_LEVEL: 'error'}
  return startWatchedApi({...same, ...environment})
}

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery']})
  org = await openOrg(here)
  api = await started()
  endAfterTests(api.stop)
})

const callsTo = ({url}: {url: string}, {session} = org) => openCalls(url)(session)
const newImport = async (call = callsTo(api), {org: id, connector} = org) => {
  const {import: made} = await ok(call('POST', `/orgs/${id}/imports`, {name: 'Test', connectorId: connector}), 201)
  return `/orgs/${id}/imports/${made.id}`
}
const send = async (body: string | Uint8Array, call = callsTo(api)) => {
  const path = await newImport(call)
  const {source} = await ok(call('POST', `${path}/sources?name=test`, body), 201)
  return {source, at: `${path}/sources/${source.id}`}
}

const longString = `<t>${'long text '.repeat(40_000)}</t>`
const longCells = async () => {
  const rows = Array.from({length: 300}, (_, at) => `<row r="${at + 2}"><c r="A${at + 2}" t="s"><v>0</v></c></row>`).join('')
  const data = `<row r="1"><c r="A1" t="inlineStr"><is><t>text</t></is></c></row>${rows}`
  return writeWorkbook({sheets: [{name: 'One', data}], items: [longString]})
}

const calls = () => callsTo(api)
const cases: Record<string, () => Promise<() => Promise<unknown>>> = {
  'a file of 16,384 columns is sent': async () => () => send(wide),
  'a file of 16,384 columns is described': async () => {
    const {at} = await send(wide)
    return () => ok(calls()('GET', at), 200)
  },
  'an import with a file of 16,384 columns is read': async () => {
    const {at} = await send(wide)
    return () => ok(calls()('GET', at.replace(/\/sources\/.*/, '')), 200)
  },
  'a file of 16,384 columns is shown': async () => {
    const {at} = await send(wide)
    return () => ok(calls()('GET', `${at}/rows?limit=200`), 200)
  },
  'a file of 16,384 columns is cleaned': async () => {
    const {at} = await send(wide)
    const cleanings = [[{step: 'trim'}], [{step: 'collapseSpaces'}], []]
    return () => ok(calls()('PATCH', at, {cleaning: cleanings.pop()}), 200)
  },
  'a workbook repeats one long string': async () => {
    const book = await longCells()
    return () => send(book)
  },
  'costly patterns clean a file, and its rows are shown': async () => {
    const {at} = await send(costly)
    const cleanings = [costlyCleaning, [{step: 'trim'}, ...costlyCleaning], [...costlyCleaning, {step: 'trim'}]]
    return async () => {
      await ok(calls()('PATCH', at, {cleaning: cleanings.pop()}), 200)
      await ok(calls()('GET', `${at}/rows?limit=200`), 200)
    }
  },
}

for (const [title, prepare] of Object.entries(cases))
  test.serial(`the API's main thread has no turn longer than ${mostMs} ms while ${title}`, async t => {
    const turns = await measureTurns(api, await prepare())
    const limit = turnLimitMs()
    t.log(`${turns.map(turn => turn.toFixed(1)).join(', ')} of ${limit.toFixed(1)}`)
    t.true(Math.min(...turns) <= limit, `${turns}`)
  })

test.serial('a file that takes too long is refused, as are requests beyond the queue; other orgs are served meanwhile', async t => {
  const slow = await started({PARSER_SECONDS: '3', PARSER_THREADS: '2', DRAIN_SECONDS: '0'})
  const call = callsTo(slow)
  try {
    const {at} = await send(`n\n${'1\n'.repeat(20_000)}`)
    const other = await openOrg(here, 'zoe@other.example')
    const expression = 'Array.from({length: 10_000}, (_, at) => at % 3).filter(Boolean).length < Number(row.n)'
    const cleaning = [{step: 'strikeWhere', expression}]
    const asked = Array.from({length: 40}, () => call('PATCH', at, {cleaning}))
    // The end of the test cuts off requests that still wait.
    for (const asking of asked) asking.catch(() => {})
    const refused = await Promise.race(asked)
    t.like(refused, {status: 503, body: {code: 'BUSY'}})
    t.truthy(refused.headers.get('retry-after'))
    const path = await newImport(callsTo(slow, other), other)
    const {source} = await ok(callsTo(slow, other)('POST', `${path}/sources?name=a.csv`, 'a\n1\n'), 201)
    t.is(source.rows, 1)
    const first = await Promise.any(asked.map(asking => asking.then(answer => (answer.status === 503 ? Promise.reject(answer) : answer))))
    t.deepEqual([first.status, first.body.code], [422, 'FILE_TOO_SLOW'])
    t.regex(first.body.error, /longer than 3 s/)
  } finally {
    await slow.stop()
  }
})

test.serial('a thread that runs out of memory fails only its own request', async t => {
  const small = await started({PARSER_MEMORY_MB: '32', PARSER_THREADS: '3'})
  const call = callsTo(small)
  try {
    const path = await newImport(call)
    const [hungry, modest] = await Promise.all([
      call('POST', `${path}/sources?name=wide.csv`, wide),
      call('POST', `${path}/sources?name=small.csv`, accountRows(2_000)),
    ])
    t.deepEqual([hungry.status, hungry.body.code], [422, 'UNREADABLE'])
    t.regex(hungry.body.error, /32 MB of memory/)
    t.is(modest.status, 201)
    t.is((await ok(call('POST', `${path}/sources?name=again.csv`, accountRows(100)), 201)).source.rows, 100)
    t.is((await call('GET', '/health')).status, 200)
  } finally {
    await small.stop()
  }
})

test.serial('a file of 100,000 rows is parsed', async t => {
  const rows = accountRows(100_000)
  const times: number[] = []
  for (let attempt = 0; attempt < 3; attempt++) {
    const since = performance.now()
    t.is((await send(rows)).source.rows, 100_000)
    times.push(performance.now() - since)
  }
  t.log(times.map(time => `${time.toFixed(0)} ms`).join(', '))
})
