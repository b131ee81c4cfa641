import anyTest, {type TestFn} from 'ava'
import {newId} from '../../shared/ids.ts'
import {sql} from '../../sql/database.ts'
import type {FaultSpec} from '../simulators/crm/faults.ts'
import {ok, openOrg} from '../support/importing.ts'
import {
  authorise,
  calls,
  closeRun,
  endRun,
  type Here,
  importRun,
  lose,
  make,
  see,
  send,
  settleDown,
  stopRun,
  take,
  taken,
} from '../support/record-claims.ts'
import {openHere} from '../support/record-claims-fixture.ts'

const test = anyTest.serial as TestFn<Here>

test.before(async t => void Object.assign(t.context, await openHere(t)))
test.beforeEach(t => settleDown(t.context))

test('a claim under a run that ended, closes or lost its import is ended, without a call to the CRM', async t => {
  const here = t.context
  const record = make(here)
  here.world.crm.clearJournal()
  const ended = await authorise(here)
  await lose(here, ended)
  await endRun(here, ended)
  t.is(await taken(here, {run: ended, record}), 'ended')

  const closing = await authorise(here)
  await lose(here, closing)
  await closeRun(here, closing)
  t.is(await taken(here, {run: closing, record}), 'ended')

  const {run: lapsed} = await importRun(here)
  await lose(here, lapsed)
  await here.world.ahead('10 minutes')
  t.is(await taken(here, {run: lapsed, record}), 'ended')
  t.deepEqual(calls(here), [])
  for (const run of [ended, closing, lapsed]) t.like(await see(here, run), {log: {length: 2}, takes: []})
})

test('a run without an import has no lease that could expire before a claim', async t => {
  const here = t.context
  const run = await authorise(here)
  await lose(here, run)
  await here.world.ahead('10 minutes')
  t.true(await taken(here, {run, record: make(here)}))
})

test('a stopped run cannot claim, and the refusal gives the reason', async t => {
  const here = t.context
  const run = await authorise(here)
  await lose(here, run)
  await stopRun(here, run)
  const {status, body} = await take(here, {run, record: make(here)})
  t.is(status, 403)
  t.like(body, {
    code: 'RUN_STOPPED',
    stop: {stopped: 'LIMIT_ROWS_PER_RUN', stoppedBy: 'declaration', rowsPerRun: 1_000, rowsWrittenTotal: 5},
  })
  await endRun(here, run)
  t.is(await taken(here, {run, record: absent}), 'ended', 'told before')
})

const absent = '4400001000000999999'

test('a claim without run or row key, or with unknown keys, is refused', async t => {
  const {org} = t.context
  const path = `/orgs/${org.org}/connectors/${org.connector}/records/Accounts/${absent}/made`
  const good = {runId: await authorise(t.context), rowKey: 'r1'}
  const bad = [
    {},
    {runId: good.runId},
    {rowKey: 'r1'},
    {...good, rowKey: ''},
    {...good, runId: ''},
    {...good, keys: ['x']},
    {...good, x: 1},
  ]
  for (const body of bad) t.like(await org.call('POST', path, body), {status: 400, body: {code: 'INVALID'}}, JSON.stringify(body))
})

test('claims are refused in the fixed order of checks', async t => {
  const here = t.context
  const run = await authorise(here)
  const bare = {run, record: absent}
  const code = async (asked: Parameters<typeof take>[1], call = here.org.call) => {
    const {status, body} = await take(here, asked, call)
    return `${status} ${body.code ?? body.why}`
  }
  const {token} = await here.world.makeOrg({org: here.org.org, role: 'operator'})
  const stranger = here.world.as(token)
  t.is(await code({...bare, run: 'none', connector: newId('con'), module: 'Nothings'}), '404 NOT_FOUND')
  t.is(await code({...bare, run: 'none', module: 'Nothings'}), '404 MODULE_NOT_FOUND')
  const subform = await take(here, {...bare, run: 'none', module: 'Order_Lines'})
  t.like(subform, {status: 400, body: {code: 'SUBFORM_NOT_WRITABLE', written: false}})
  t.is(await code({...bare, run: 'none'}), '404 RUN_NOT_FOUND')
  const session = await here.world.signIn()
  const second = await here.world.connect(session, {user: 'ben@example.org', name: 'Another'})
  await here.org.call('POST', `/orgs/${here.org.org}/discovery/run`, {connectorId: second}, {prefer: 'wait=30'})
  t.is(await code({...bare, connector: second}, stranger), '403 NOT_YOUR_RUN')
  await send(here, run)
  await closeRun(here, run)
  t.is(await code({...bare, connector: second}), '409 RUN_CONNECTOR_MISMATCH')
  await stopRun(here, await authorise(here))
  t.is(await code(bare), '200 ended')
})

test('a run of the service’s own engine cannot claim; after its end the claim is ended', async t => {
  const here = t.context
  const run = await authorise(here)
  await here.world.db.query(sql.unsafe`update runs set engine = 'worker', state = 'writing' where id = ${run}`)
  t.like(await take(here, {run, record: absent}), {status: 409, body: {code: 'RUN_USED'}})
  await here.world.db.query(sql.unsafe`update runs set state = 'ended' where id = ${run}`)
  t.is(await taken(here, {run, record: absent}), 'ended')
})

test('an admin can claim under the run of another person, and not under one of another org', async t => {
  const here = t.context
  const {token} = await here.world.makeOrg({org: here.org.org, role: 'admin'})
  const run = await authorise(here)
  t.like(await take(here, {run, record: make(here)}, here.world.as(token)), {status: 200, body: {taken: true}})
  const other = await openOrg(here.world, 'zoe@other.example')
  const foreign = {...here, org: other}
  const theirs = await authorise(foreign)
  const answers = [await take(here, {run: theirs, record: absent}), await take(here, {run: newId('run'), record: absent})]
  t.deepEqual(answers[0]!.body, answers[1]!.body)
  t.is(answers[0]!.status, 404)
  const unknown = [await take(here, {run, record: makeIn(here, 'other'), row: 'r2'}), await take(here, {run, record: absent, row: 'r2'})]
  t.deepEqual(unknown[0]!.text, unknown[1]!.text)
  t.deepEqual(unknown[0]!.body, {taken: false, why: 'gone'})
  t.like(await take(here, {run, record: absent}, other.call), {status: 403, body: {code: 'OTHER_ORG'}})
})

const makeIn = ({world}: Here, org: string) => String(world.crm.create(org, 'Accounts', [{Account_Name: 'Theirs'}])[0]!.details.id)

const record = {module: 'Accounts'}
const user = {path: '/crm/v8/users'}
const scope = {type: 'answer', status: 401, body: {code: 'OAUTH_SCOPE_MISMATCH', details: {}, message: 'no', status: 'error'}} as const
const faults: [string, FaultSpec['action'], object][] = [
  [
    'a missing scope',
    scope,
    {status: 409, body: {code: 'SCOPE_MISSING', crm: {code: 'OAUTH_SCOPE_MISMATCH', status: 401, unanswered: false}}},
  ],
  [
    'an exhausted quota',
    {type: 'rateLimit', credits: 0},
    {status: 429, body: {crm: {quotaSpent: true, rateLimited: true, retryable: false}}},
  ],
  [
    'a rate limit',
    {type: 'rateLimit', retryAfter: 3},
    {status: 502, body: {crm: {rateLimited: true, unanswered: false, retryAfterMs: 3000}}},
  ],
  ['a CRM failure', {type: 'status5xxBefore', status: 500}, {status: 502, body: {crm: {status: 500, unanswered: true}}}],
  ['a lost connection', 'dropAfter', {status: 502, body: {crm: {status: null, unanswered: true}}}],
]
for (const [what, action, relayed] of faults) {
  for (const [which, match] of Object.entries({record, user})) {
    test(`${what} on the read of the ${which} is passed on, and the record is free again`, async t => {
      const here = t.context
      const run = await authorise(here)
      await lose(here, run)
      const wanted = make(here)
      here.world.crm.faults.add({match, action})
      t.like(await take(here, {run, record: wanted}), relayed)
      t.like(await see(here, run), {takes: [], log: {length: 2}})
      await settleAllowance(here)
      t.true(await taken(here, {run, record: wanted, row: 'r2'}))
    })
  }
}
const settleAllowance = ({world}: Here) => world.db.query(sql.unsafe`delete from crm_allowances`)

test('an expired access token is renewed during a claim', async t => {
  const here = t.context
  const run = await authorise(here)
  here.world.crm.faults.add({match: record, action: 'expireToken'})
  t.true(await taken(here, {run, record: make(here)}))
})

test('an exhausted CRM quota refuses a claim before its call, and releases the record', async t => {
  const here = t.context
  const run = await authorise(here)
  const wanted = make(here)
  here.world.crm.faults.add({match: record, action: {type: 'rateLimit', credits: 0}})
  await take(here, {run, record: wanted})
  t.like(await take(here, {run, record: wanted}), {status: 429, body: {code: 'DAILY_ALLOWANCE_SPENT', crm: undefined}})
  t.deepEqual((await see(here, run)).takes, [])
})

test('an unsent row cannot claim beyond the row limit of its run; a sent row can', async t => {
  const here = t.context
  const run = await authorise(here, {connectorId: here.org.connector, declaredRows: 2})
  await lose(here, run, {row: 'sent'})
  const unsent = {run, row: 'unsent', record: make(here)}
  t.true(await taken(here, unsent))
  t.is((await see(here, run)).head.counted, 2)
  t.true(await taken(here, {run, row: 'sent', record: make(here)}))
  t.is((await see(here, run)).head.counted, 2)
  const stop = {stopped: 'LIMIT_ROWS_PER_RUN', rowsPerRun: 2, stoppedBy: 'declaration', rowsWrittenTotal: 2}
  const refused = await take(here, {run, row: 'another', record: make(here)})
  t.like(refused, {status: 403, body: {code: 'RUN_STOPPED', stop}}, refused.text)
  t.true(await taken(here, unsent), 'a repeated claim succeeds, because its answer may have been lost')
  t.like(await see(here, run), {log: {length: 4}, takes: [], head: {counted: 2}})
  const {run: read} = await ok(here.org.call('POST', `/entitlements/runs/${run}/progress`, {done: true}), 200)
  t.like(read.stop, stop)
})

test('a row whose create an earlier run sent is not counted in the run that claims its record', async t => {
  const here = t.context
  const {run: first, path} = await importRun(here)
  await (await send(here, first))({outcome: 'unanswered', message: 'The CRM did not answer'})
  await endRun(here, first)
  const importId = path.split('/').at(-3)!
  const run = await authorise(here, {importId})
  t.true(await taken(here, {run, record: make(here)}))
  t.is((await see(here, run)).head.counted, 0)
})

test('a self-metered run can claim a record after its engine reported every row as written', async t => {
  const here = t.context
  const run = await authorise(here, {connectorId: here.org.connector, declaredRows: 2})
  await ok(here.org.call('POST', `/entitlements/runs/${run}/progress`, {rowsWritten: 2}), 200)
  for (const row of ['one', 'two']) t.true(await taken(here, {run, row, record: make(here)}))
  t.is((await see(here, run)).head.counted, 2)
  const refused = await take(here, {run, row: 'three', record: make(here)})
  t.like(refused, {status: 403, body: {code: 'RUN_STOPPED'}}, refused.text)
})
