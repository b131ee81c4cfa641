import test from 'ava'
import {accountRows, ok, openOrg, runImport, untilEnded} from '../importing.ts'
import {assertAccounted, assertChain, countBy} from '../oracle.ts'
import {world} from '../world.ts'

let here: Awaited<ReturnType<typeof world>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await world(t, {workers: ['imports', 'discovery'], environment: {LEASE_SECONDS: '3', CRM_TIMEOUT_SECONDS: '0.8'}})
  org = await openOrg(here)
})

test.afterEach.always(() => {
  here.crm.faults.clear()
  here.crm.setSwitches({coqlRefusedColumns: []})
})

const creates = {method: 'POST', path: '/crm/v8/Accounts'}
/** Nothing of it is unique. */
const flow = {
  module: 'Accounts',
  fields: [
    {field: 'Account_Name', mode: 'column', source: 'number'},
    {field: 'Billing_City', mode: 'column', source: 'city'},
  ],
}

const importRows = async (csv: string, more: object = {}) => {
  const {path, source, run} = await runImport(org, {csv, flow: {...flow, ...more}})
  const results = (await org.call('GET', `${path}/results.csv?run=${run.id}`)).text
  const rows = csv.trim().split('\n').length - 1
  return {path, source, run, results, ...(await assertAccounted(here, {org, path, run, rows}))}
}

const mine = (prefix: string) => here.crm.records('example', 'Accounts').filter(record => String(record.Account_Name).startsWith(prefix))
const entriesOf = (log: any[], number: number) =>
  log.filter(({rowNumber}) => rowNumber === number).map(({outcome, attempt, code}) => [outcome, attempt, code])
const disclosed = (results: string) => results.split('may exist twice').length - 1

test.serial("answers lost after the records were made: they are found and are the rows'", async t => {
  for (const [nth, action] of ['dropAfter', {type: 'status5xxAfter', status: 502}, 'nonJson'].entries())
    here.crm.faults.add({match: {...creates, nth: nth + 1}, times: 1, action} as never)
  const {outcomes, log, run, results} = await importRows(accountRows(450, 'M-'))
  t.deepEqual(outcomes, {created: 450})
  t.true(countBy(log, ({code}) => String(code)).MADE_EARLIER! >= 200)
  t.is(run.rowsWritten, 450)
  t.is(mine('M-').length, 450)
  t.is(new Set(log.filter(({outcome}) => outcome === 'created').map(({recordId}) => recordId)).size, 450)
  t.is(disclosed(results), 0)
})

test.serial('a connection dropped before anything was made: the rows are sent again in small batches, and that is said', async t => {
  here.crm.clearJournal()
  here.crm.faults.add({match: creates, times: 1, action: 'dropBefore'})
  const {outcomes, log, run, results} = await importRows(accountRows(150, 'N-'))
  t.deepEqual(outcomes, {created: 150})
  t.is(mine('N-').length, 150)
  t.is(run.rowsWritten, 150, 'under the admission they had')
  const [lost] = log.filter(({outcome}) => outcome === 'made_after_no_answer')
  const entries = entriesOf(log, lost.rowNumber).map(([outcome, attempt]) => `${outcome} ${attempt}`)
  t.deepEqual(entries.toSorted(), ['created 2', 'made_after_no_answer 0', 'unanswered 1'])
  const sizes = here.crm.journal().flatMap(({method, path, body}) => (method === 'POST' && path === creates.path ? [body.data.length] : []))
  const first = sizes[0]!
  t.is(disclosed(results), first)
  t.deepEqual(sizes.slice(2), Array(first / 10).fill(10))
})

test.serial('rows alike, and one batch of them lost: as many records as rows', async t => {
  here.crm.faults.add({match: {...creates, nth: 2}, times: 1, action: 'dropAfter'})
  const {outcomes, log} = await importRows(`number,city\n${'T-same,Soria\n'.repeat(230)}`)
  t.deepEqual(outcomes, {created: 230})
  t.is(mine('T-').length, 230)
  t.is(countBy(log, ({outcome}) => outcome).made_after_no_answer ?? 0, 0)
})

test.serial('a record that an automation changed is not sent again', async t => {
  here.crm.faults.add({
    match: creates,
    times: 1,
    action: [
      'dropBefore',
      {
        type: 'foreignCreate',
        module: 'Accounts',
        record: {Account_Name: 'C-1', Billing_City: 'Changed'},
        user: 'ana@example.org',
        when: 'before',
      },
    ],
  })
  const {outcomes, log, results} = await importRows('number,city\nC-1,Soria\n')
  t.deepEqual(outcomes, {unanswered: 1})
  t.deepEqual(entriesOf(log, 1).at(-1), ['unanswered', 1, 'MAYBE_MADE'])
  t.is(disclosed(results), 1)
  t.is(mine('C-').length, 1)
})

test.serial('more equal records than creates: nobody can tell which is whose', async t => {
  const record = {Account_Name: 'X-1', Billing_City: 'Soria'}
  const foreign = {type: 'foreignCreate', module: 'Accounts', record, user: 'ana@example.org', when: 'before'}
  here.crm.faults.add({match: creates, times: 1, action: ['dropAfter', foreign] as never})
  const {outcomes} = await importRows('number,city\nX-1,Soria\n')
  t.deepEqual(outcomes, {unanswered: 1})
  t.is(mine('X-').length, 2)
})

test.serial('somebody else made an equal record meanwhile: it is theirs', async t => {
  const record = {Account_Name: 'B-1', Billing_City: 'Soria'}
  const foreign = {type: 'foreignCreate', module: 'Accounts', record, user: 'ben@example.org', when: 'before'}
  here.crm.faults.add({match: creates, times: 1, action: ['dropBefore', foreign] as never})
  const {outcomes, log} = await importRows('number,city\nB-1,Soria\n')
  t.deepEqual(outcomes, {created: 1})
  t.is(log.filter(({outcome}) => outcome === 'made_after_no_answer').length, 1)
  t.is(mine('B-').length, 2)
})

test.serial('a later row of the same match value waits for the lost one', async t => {
  here.crm.faults.add({match: creates, times: 1, action: 'dropAfter'})
  const match = {by: ['Account_Name'], onOne: 'update', onMany: 'skip'}
  const {outcomes, log} = await importRows('number,city\nW-1,Soria\nW-1,Burgos\n', {match})
  t.deepEqual(outcomes, {created: 1, updated: 1})
  t.is(mine('W-').length, 1)
  t.is(log.find(({code}) => code === 'MADE_EARLIER').rowNumber, 1)
})

test.serial(
  'the CRM does not take its user or the field as a condition: records are told apart when read; and it goes by another clock',
  async t => {
    here.crm.clock.advance(90_000)
    here.crm.setSwitches({coqlRefusedColumns: ['Created_By', 'Account_Name']})
    here.crm.faults.add({match: creates, times: 1, action: 'dropAfter'})
    const {outcomes, log} = await importRows('number,city\nR-1,Soria\nR-2,Soria\n')
    t.deepEqual(outcomes, {created: 2})
    t.is(countBy(log, ({code}) => String(code)).MADE_EARLIER, 2)
  },
)

const run = async (path: string, start: object) => {
  const {run: begun} = await ok(org.call('POST', `${path}/runs`, start), 202)
  return untilEnded(org.call, `${path}/runs/${begun.id}`)
}

test.serial('a row that has become another is not looked for by its new values; put back, its record is found by a retry', async t => {
  // The CRM cannot be asked, so the first run leaves its rows open.
  here.crm.setSwitches({coqlRefusedColumns: ['Created_Time']})
  here.crm.faults.add({match: creates, times: 1, action: 'dropAfter'})
  const {path, source, run: first, outcomes: left} = await importRows(accountRows(30, 'P-'))
  t.deepEqual(left, {unanswered: 30})
  here.crm.setSwitches({coqlRefusedColumns: []})
  here.crm.clearJournal()
  const setFields = (fields: object[]) => ok(org.call('PUT', `${path}/flows`, [{id: 'f', sourceId: source.id, ...flow, fields}]), 200)
  await setFields(flow.fields.slice(0, 1))
  const second = await run(path, {retryOf: first.id})
  const {log} = await assertAccounted(here, {org, path, run: second, rows: 30})
  t.deepEqual(entriesOf(log, 1), [['unanswered', 0, 'PAYLOAD_CHANGED']])
  await setFields(flow.fields)
  const third = await run(path, {retryOf: second.id})
  const {outcomes, finals} = await assertChain(here, {org, path, runs: [first, second, third], rows: 30})
  t.deepEqual(outcomes, {created: 30})
  t.like(finals.get(7), {attempt: 1, code: 'MADE_EARLIER'})
  t.is(third.rowsWritten, 0, 'counted by the run that sent them')
  t.is(here.crm.journal().filter(({method, path}) => method === 'POST' && path === creates.path).length, 0)
  t.is(mine('P-').length, 30)
})

test.serial('never answered: sent three times, and then left to a retry, which looks before it sends', async t => {
  here.crm.faults.add({match: creates, times: 3, action: 'dropBefore'})
  const {outcomes: left, log, run: first, path} = await importRows('number,city\nS-1,Soria\n')
  t.deepEqual(left, {unanswered: 1})
  t.deepEqual(
    entriesOf(log, 1).map(([, attempt]) => attempt),
    [1, 2, 3, 3],
  )
  t.is(first.rowsWritten, 1)
  const second = await run(path, {retryOf: first.id})
  const {outcomes} = await assertChain(here, {org, path, runs: [first, second], rows: 1})
  t.deepEqual(outcomes, {created: 1})
  t.is(mine('S-').length, 1)
  t.is(disclosed((await org.call('GET', `${path}/results.csv?run=${second.id}`)).text), 1)
})

test.serial('lost rows are within the limit: it is reached once they are settled', async t => {
  here.crm.faults.add({match: creates, times: 1, action: 'dropBefore'})
  const {path, run: ended} = await runImport(org, {csv: accountRows(160, 'D-'), flow, start: {declaredRows: 120}})
  const {outcomes} = await assertAccounted(here, {org, path, run: ended, rows: 160})
  t.deepEqual(outcomes, {created: 120})
  t.like(ended.stop, {stopped: 'LIMIT_ROWS_PER_RUN', rowsWrittenTotal: 120})
  t.is(mine('D-').length, 120)
})
