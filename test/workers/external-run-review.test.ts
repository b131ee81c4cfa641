import anyTest, {type TestFn} from 'ava'
import {accounts, ok, openOrg} from '../support/importing.ts'
import {assertLedger, callsOf, type ExternalEngine, openExternalEngine, row, rowsOf} from '../support/record-writes.ts'

/** The tests run serially, because they share one CRM and one clock. */
const test = anyTest.serial as TestFn<ExternalEngine>

test.before(async t => {
  Object.assign(t.context, await openExternalEngine(t, {environment: {CRM_TIMEOUT_SECONDS: '2', LEASE_SECONDS: '30'}}))
})
test.beforeEach(async ({context: {house}}) => {
  house.crm.clear()
  await house.ahead('0 seconds')
})

const success = (id: string) => ({code: 'SUCCESS', status: 'success', message: 'record added', details: {id}})

test('a create answered with the record of another row is unanswered, in the log and in its result', async t => {
  const here = t.context
  const run = await here.authorise()
  const first = (await ok(here.create(run, [row('A')]), 200)).results[0].recordId
  const [mine, other] = ['4400001000000999001', '4400001000000999002']
  const data = [first, mine, other].map(success)
  here.house.crm.faults.add({match: {method: 'POST', module: 'Accounts'}, action: {type: 'answer', status: 201, body: {data}}})
  const rows = ['B', 'C', 'D'].map(key => row(key, key, {writeId: key}))
  const {results} = await ok(here.create(run, rows), 200)
  t.like(results, [
    {rowKey: 'B', ok: false, code: 'RECORD_HELD', crm: {unanswered: true}},
    {rowKey: 'C', ok: true, recordId: mine},
    {rowKey: 'D', ok: true, recordId: other},
  ])
  t.false('recordId' in results[0] || 'outcome' in results[0])
  t.deepEqual((await ok(here.create(run, rows), 200)).results, results, 'asked again under its name it is told the same')
  const {finals, run: seen} = await assertLedger(here, run)
  t.deepEqual(
    ['A', 'B', 'C', 'D'].map(key => finals.get(key).outcome),
    ['created', 'unanswered', 'created', 'created'],
  )
  t.is(seen.rowsWritten, 4, 'an unanswered row stays counted')
})

test('a create answered with a record of another run is unanswered, in any org', async t => {
  const here = t.context
  const [first] = (await ok(here.create(await here.authorise(), [row('E1')]), 200)).results
  const other = callsOf(here.house, await openOrg(here.house))
  for (const [way, calls] of Object.entries({'the same org': here, 'another org': other})) {
    const run = await calls.authorise()
    const answer = {type: 'answer', status: 201, body: {data: [success(first.recordId)]}} as const
    here.house.crm.faults.add({match: {method: 'POST', module: 'Accounts'}, action: answer})
    const {body} = await calls.create(run, [row(`E2 ${way}`)])
    const crm = {unanswered: true, code: 'SUCCESS', details: {id: first.recordId}}
    t.like(body.results, [{ok: false, code: 'RECORD_HELD', crm}], way)
    const {finals, run: seen} = await assertLedger(calls, run)
    t.is(finals.get(`E2 ${way}`).outcome, 'unanswered', way)
    t.is(seen.rowsWritten, 1, 'an unanswered row stays counted')
  }
})

test('an answer that names one record twice is trusted for neither row', async t => {
  const here = t.context
  const run = await here.authorise()
  const data = ['4400001000000999011', '4400001000000999012', '4400001000000999012'].map(success)
  here.house.crm.faults.add({match: {method: 'POST', module: 'Accounts'}, action: {type: 'answer', status: 201, body: {data}}})
  const rows = ['F', 'G', 'H'].map(key => row(key, key, {writeId: key}))
  await here.create(run, rows)
  const {finals} = await assertLedger(here, run)
  t.deepEqual(
    ['F', 'G', 'H'].map(key => finals.get(key).outcome),
    ['unanswered', 'unanswered', 'unanswered'],
  )
})

test('a change to an import whose external run lost its lease ends that run', async t => {
  const here = t.context
  const {call} = here.org
  const csv = 'name,number,city\nd,e,f\n'
  const changes: [string, (path: string, source: string) => Promise<{status: number; body: any}>][] = [
    ['a file', path => call('POST', `${path}/sources?name=more.csv`, csv, {'content-type': 'text/csv'})],
    ['flows', (path, sourceId) => call('PUT', `${path}/flows`, [{id: 'f', sourceId, ...accounts}])],
    ['another reading', (path, source) => call('PATCH', `${path}/sources/${source}`, {cleaning: [{step: 'trim', columns: ['name']}]})],
    ['one file less', (path, source) => call('DELETE', `${path}/sources/${source}`)],
  ]
  for (const [what, change] of changes) {
    await here.house.ahead('0 seconds')
    const {path, source} = await here.makeImport()
    const run = await here.authorise(10, {importId: path.split('/').at(-1)})
    await ok(here.tell(run, 'lease'), 200)
    t.like(await change(path, source.id), {status: 409, body: {code: 'IMPORT_RUNNING'}}, what)
    await here.house.ahead('121 seconds')
    const {status, body} = await change(path, source.id)
    t.true(status < 300, `${what}: ${status} ${JSON.stringify(body)}`)
    t.is((await here.read(run)).state, 'ended', what)
    t.not((await ok(call('GET', path), 200)).import.state, 'running', what)
  }
})

test('a number that JSON parsers cannot represent exactly is refused', async t => {
  const here = t.context
  const run = await here.authorise()
  const send = (text: string) =>
    here.org.call('POST', here.path, Buffer.from(`{"runId":"${run}","items":[{"rowKey":"n","payload":{"Account_Name":"n",${text}}}]}`), {
      'content-type': 'application/json',
    })
  for (const text of ['"Annual_Revenue":1e400', '"Account_Number":9007199254740993', '"Deep":{"in":[-12345678901234567890]}'])
    t.like(await send(text), {status: 400, body: {code: 'INVALID'}}, text)
  t.is(here.posts(), 0)
  t.is((await send('"Annual_Revenue":9007199254740991')).status, 200)
})

test('a hundred records of thirty thousand bytes fit in one request, and of ninety thousand do not', async t => {
  const here = t.context
  const run = await here.authorise()
  const many = (bytes: number) =>
    Array.from({length: 100}, (_, n) => ({rowKey: `W-${n}`, payload: {Account_Name: 'Wide', Description: 'x'.repeat(bytes)}}))
  t.like(await here.create(run, many(90_000)), {status: 413, body: {code: 'BODY_TOO_LARGE'}})
  const {results} = await ok(here.create(run, many(30_000)), 200)
  t.is(results.filter((one: any) => one.ok).length, 100)
})

test('subform rows in the payload of their parent are refused', async t => {
  const here = t.context
  const run = await here.authorise()
  const path = here.path.replace('Accounts', 'Orders')
  const payload = {Name: 'An order', Order_Lines: [{Product: 'A'}]}
  const refused = {status: 400, body: {code: 'SUBFORM_NOT_WRITABLE', written: false}}
  t.like(await here.org.call('POST', path, {runId: run, items: [{rowKey: 'o', payload}]}), refused)
  t.like(await here.org.call('PUT', path, {runId: run, items: [{rowKey: 'o', recordId: '1', payload}]}), refused)
  t.is((await here.read(run)).state, 'authorised')
  t.is(here.house.crm.journal({path: '/crm/v8/Orders'}).length, 0)
})

test('a record id longer than any CRM id cannot be claimed', async t => {
  const here = t.context
  const run = await here.authorise()
  const long = Array.from({length: 5_000}, (_, n) => 'abcdefghijklmnopqrstuvwxyz0123456789'[(n * n + (n >> 3)) % 36]).join('')
  t.like(await here.org.call('POST', `${here.path}/${long}/made`, {runId: run, rowKey: 'a'}), {status: 400, body: {code: 'INVALID'}})
  t.like(await here.org.call('POST', `${here.path}/${'9'.repeat(100)}/made`, {runId: run, rowKey: 'a'}), {status: 200, body: {why: 'gone'}})
})

test('an unknown template is refused for a run, a null template is accepted, and progress may have a null outcome', async t => {
  const here = t.context
  const {call, connector} = here.org
  const asked = {declaredRows: 1, connectorId: connector}
  t.like(await call('POST', '/entitlements/runs/authorise', {...asked, templateId: 'tpl_nobody'}), {status: 404, body: {code: 'NOT_FOUND'}})
  const {runId} = await ok(call('POST', '/entitlements/runs/authorise', {...asked, templateId: null}), 200)
  t.like(await here.tell(runId, 'progress', {rowsWritten: 1, done: true, outcome: null}), {
    status: 200,
    body: {run: {state: 'ended', outcome: null, rowsWritten: 1}},
  })
})

test('parts of an answer that Postgres cannot store do not affect the outcomes of rows', async t => {
  const here = t.context
  const run = await here.authorise()
  const odd = 'a\0b \ud83d \\u0000 😀'
  const refusal = {code: 'INVALID_DATA', status: 'error', message: odd, details: {api_name: 'City', [odd]: odd}}
  const data = [success('4400001000000999101'), refusal, success(`44${'0'.repeat(5_000)}`), success('44\0')]
  const action = {type: 'answer', status: 207, body: {data}} as const
  here.house.crm.faults.add({match: {method: 'POST', module: 'Accounts'}, action})
  const {results} = await ok(
    here.create(
      run,
      ['g', 'h', 'i', 'j'].map(key => row(key)),
    ),
    200,
  )
  const kept = 'a\ufffdb \ufffd \\u0000 😀'
  t.like(results, [
    {ok: true, recordId: '4400001000000999101'},
    {ok: false, crm: {code: 'INVALID_DATA', unanswered: false, details: {[kept]: kept}, response: {message: kept}}},
    {ok: false, crm: {code: 'SUCCESS', unanswered: true}},
    {ok: false, crm: {code: 'SUCCESS', unanswered: true}},
  ])
  t.deepEqual((await assertLedger(here, run)).outcomes, {created: 1, refused: 1, unanswered: 2})

  here.house.crm.faults.add({match: {method: 'POST', module: 'Accounts'}, action: {type: 'answer', status: 400, body: refusal}})
  t.like(await here.create(run, [row('k')]), {status: 502, body: {crm: {code: 'INVALID_DATA', response: {message: kept}}}})
})

test('an update of a record created in the same run is a patch with own attempts, and the row stays created', async t => {
  const here = t.context
  const run = await here.authorise(2)
  const {results} = await ok(here.create(run, rowsOf(2, 'P-')), 200)
  const ids = results.map(({recordId}: any) => recordId)
  const change = (key: string, recordId: string, payload: object) => ({rowKey: key, recordId, payload})
  const patch = (payload: object) => ok(here.update(run, [change('P-1', ids[0], payload)]), 200)
  t.like((await patch({Account_Name: null})).results[0], {ok: false, crm: {unanswered: false}})
  t.like((await patch({Billing_City: 'Bern'})).results[0], {ok: true, recordId: ids[0], outcome: 'updated'})
  t.like((await ok(here.update(run, [change('P-2', ids[0], {Billing_City: 'Biel'})]), 200)).results[0], {ok: true})
  const {entries, finals, outcomes, run: seen} = await assertLedger(here, run)
  const patches = entries.filter(({phase}) => phase === 'patch')
  t.deepEqual(
    patches.map(({rowKey, attempt, outcome, recordId}) => [rowKey, attempt, outcome, recordId]),
    [
      ['P-1', 1, 'refused', ids[0]],
      ['P-1', 2, 'updated', ids[0]],
    ],
  )
  t.like(finals.get('P-2'), {attempt: 2, outcome: 'updated'}, 'another record than its own')
  t.deepEqual(outcomes, {created: 1, updated: 1})
  t.is(seen.rowsWritten, 2)
})
