import test from 'ava'
import {sql} from '../../sql/database.ts'
import {accounts, ok, openOrg, prepareImport, runImport, untilEnded} from '../support/importing.ts'
import {assertAccounted, assertChain} from '../support/oracle.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['imports', 'discovery'], environment: {LEASE_SECONDS: '3', CRM_TIMEOUT_SECONDS: '2'}})
  org = await openOrg(here)
})

const byName = (onOne = 'update') => ({by: ['Account_Name'], onOne, onMany: 'ask'})
const csvOf = (prefix: string, names: string[]) =>
  `name,number,city\n${names.map((name, at) => `${name},${prefix}${at + 1},Town`).join('\n')}\n`
const make = (name: string, count: number): {id: string}[] =>
  here.crm
    .create(
      'example',
      'Accounts',
      Array.from({length: count}, (_, at) => ({Account_Name: name, Billing_City: `Old ${at}`})),
    )
    .map(({details}) => ({id: String((details as {id: unknown}).id)}))
const record = (id: string) => here.crm.records('example', 'Accounts').find(one => one.id === id)

/** Runs an import of rows with these names. Returns the run, the final entries and the questions. */
const begin = async (prefix: string, names: string[], onOne = 'update') => {
  const {path, run} = await runImport(org, {csv: csvOf(prefix, names), flow: {...accounts, match: byName(onOne)}})
  const {finals} = await assertAccounted(here, {org, path, run, rows: names.length})
  const questions = (await ok(org.call('GET', `${path}/runs/${run.id}/questions`), 200)).questions as any[]
  return {path, run, finals, questions, rows: names.length}
}
type AnswerInput = Awaited<ReturnType<typeof begin>>

const answer = ({path, run}: Pick<AnswerInput, 'path' | 'run'>, body: object) =>
  ok(org.call('POST', `${path}/runs/${run.id}/questions`, body), 200)
const runNow = async ({path, run}: Pick<AnswerInput, 'path' | 'run'>) => (await ok(org.call('GET', `${path}/runs/${run.id}`), 200)).run
const retry = async ({path, run, rows}: Pick<AnswerInput, 'path' | 'run' | 'rows'>, more: object = {}) => {
  const {run: begun} = await ok(org.call('POST', `${path}/runs`, {retryOf: run.id, ...more}), 202)
  const ended = await untilEnded(org.call, `${path}/runs/${begun.id}`)
  return {run: ended, ...(await assertChain(here, {org, path, runs: [run, ended], rows}))}
}

test.serial('rows that match several records wait, grouped by question, with the current candidate records', async t => {
  const ids = make('Acme', 3).map(({id}) => id)
  make('Bolt', 2)
  const begun = await begin('Gr-', ['Acme', 'Solo', 'ACME', 'Bolt'])
  t.deepEqual(
    [1, 2, 3, 4].map(number => begun.finals.get(number).code ?? begun.finals.get(number).outcome),
    ['MATCH_MANY', 'created', 'MATCH_MANY', 'MATCH_MANY'],
  )
  t.is(begun.run.questions, 2)
  const acme = begun.questions.find(({rows}) => rows === 2)
  t.like(acme, {kind: 'match', flowId: 'f', module: 'Accounts', field: null, found: 3, rowNumbers: [1, 3], answer: null})
  t.deepEqual(
    acme.candidates.map(({id, $display_name}: any) => [id, $display_name]),
    ids.map(id => [id, 'Acme']),
  )
  t.deepEqual(
    acme.candidates.map(({Billing_City}: any) => Billing_City),
    ['Old 0', 'Old 1', 'Old 2'],
    'with the fields that tell them apart',
  )
  t.true(acme.candidates.every(({id, Created_Time, $url}: any) => !Number.isNaN(Date.parse(Created_Time)) && $url.includes(id)))
  t.like(
    acme.fields.find(({apiName}: any) => apiName === 'Billing_City'),
    {label: 'Billing City', type: 'text'},
  )
  t.true(acme.fields.length <= 50)
  const first = await ok(org.call('GET', `${begun.path}/runs/${begun.run.id}/questions?limit=1`), 200)
  const second = await ok(org.call('GET', `${begun.path}/runs/${begun.run.id}/questions?limit=1&cursor=${first.nextCursor}`), 200)
  t.deepEqual([...first.questions, ...second.questions], begun.questions)
  t.is(second.nextCursor, null)
})

test.serial('a retry applies the answer to each question: a record, a new record, or skip', async t => {
  const [chosen] = make('Choose', 2).toReversed()
  make('Make', 2)
  make('Leave', 2)
  const begun = await begin('Ch-', ['Choose', 'Make', 'Leave', 'Free'])
  const keyOf = (number: number) => begun.questions.find(({rowNumbers}) => rowNumbers.includes(number)).key
  t.is(begun.run.questionsAnswered, 0)
  await answer(begun, {
    answers: [
      {key: keyOf(1), recordId: chosen!.id},
      {key: keyOf(2), choice: 'create'},
      {key: keyOf(3), choice: 'skip'},
    ],
  })
  const {questions} = await ok(org.call('GET', `${begun.path}/runs/${begun.run.id}/questions`), 200)
  t.like(questions.find((one: any) => one.key === keyOf(1)).answer, {choice: 'record', recordId: chosen!.id})
  t.like(await runNow(begun), {questions: 3, questionsAnswered: 3}, 'a client shows that only the retry is left')
  const {finals, run} = await retry(begun)
  t.like(finals.get(1), {outcome: 'updated', recordId: chosen!.id})
  t.like(finals.get(2), {outcome: 'created'})
  t.like(finals.get(3), {outcome: 'skipped', code: 'MATCH_SKIPPED'})
  t.is(finals.get(4).outcome, 'inherited')
  t.is(record(chosen!.id)!.Billing_City, 'Town')
  t.is(run.questions, 0)
})

test.serial('a rule counts as the answer to each question of its flow, until it is removed', async t => {
  make('Rule', 2)
  make('Ruler', 2)
  const begun = await begin('Ru-', ['Rule', 'Ruler'])
  const rule = (choice: string) => answer(begun, {rules: [{flowId: 'f', kind: 'match', choice}]})
  await answer(begun, {answers: [{key: begun.questions[0].key, choice: 'skip'}]})
  t.is((await runNow(begun)).questionsAnswered, 1)
  await rule('first')
  t.is((await runNow(begun)).questionsAnswered, 2)
  await rule('ask')
  t.is((await runNow(begun)).questionsAnswered, 1)
})

test.serial('an answer given after a run began applies to the next run only', async t => {
  make('Later', 2)
  const begun = await begin('La-', ['Later'])
  const {finals, run} = await retry(begun)
  t.is(finals.get(1).code, 'MATCH_MANY')
  t.is(run.questions, 1)
  await answer(begun, {answers: [{key: begun.questions[0].key, choice: 'create'}]})
  const {run: third} = await retry({...begun, run})
  t.is(third.counts.Accounts.created, 1)
})

test.serial('a question is asked again if its chosen record no longer matches', async t => {
  const [first, second] = make('Gone', 2)
  const begun = await begin('Go-', ['Gone'])
  const authorised = {declaredRows: 1, importId: begun.path.split('/').at(-1)}
  const {runId} = await ok(org.call('POST', '/entitlements/runs/authorise', authorised), 200)
  await answer(begun, {answers: [{key: begun.questions[0].key, recordId: first!.id}]})
  here.crm.remove('example', 'Accounts', [first!.id])
  const {run, finals} = await retry(begun, {runId})
  t.like(finals.get(1), {outcome: 'skipped', code: 'MATCH_MANY'})
  t.is(run.questionsAnswered, 0, 'the run knew the answer')
  t.regex(finals.get(1).message, /no longer matches/)
  const {questions} = await ok(org.call('GET', `${begun.path}/runs/${run.id}/questions`), 200)
  t.like(questions, [{key: begun.questions[0].key, found: 1, answer: null}])
  t.deepEqual(
    questions[0].candidates.map(({id}: any) => id),
    [second!.id],
  )
})

test.serial('a rule answers every question without an individual answer, until it is withdrawn', async t => {
  const [oldest] = make('Rule one', 3)
  make('Rule two', 2)
  const begun = await begin('Ru-', ['Rule one', 'Rule two'])
  const two = begun.questions.find(({rowNumbers}) => rowNumbers.includes(2)).key
  const {rules} = await answer(begun, {rules: [{flowId: 'f', choice: 'first'}], answers: [{key: two, choice: 'skip'}]})
  t.deepEqual(rules, [{flowId: 'f', kind: 'match', field: null, choice: 'first'}])
  const {finals, run} = await retry(begun)
  t.like(finals.get(1), {outcome: 'updated', recordId: oldest!.id})
  t.is(finals.get(2).code, 'MATCH_SKIPPED')
  t.deepEqual((await answer(begun, {rules: [{flowId: 'f', choice: 'ask'}]})).rules, [])
  const {path} = await prepareImport(org, {csv: csvOf('Rv-', ['Rule one']), flow: {...accounts, match: byName()}})
  const other = await ok(org.call('POST', `${path}/runs`, {}), 202)
  t.is((await untilEnded(org.call, `${path}/runs/${other.run.id}`)).questions, 1, "another import's rule is not this one's")
  t.truthy(run)
})

test.serial('a question with more candidates than it shows lists the oldest twenty', async t => {
  const ids = make('Crowd', 25).map(({id}) => id)
  const begun = await begin('Cr-', ['Crowd'])
  t.is(begun.questions[0].found, 25)
  t.deepEqual(
    begun.questions[0].candidates.map(({id}: any) => id),
    ids.slice(0, 20),
  )
  await answer(begun, {answers: [{key: begun.questions[0].key, recordId: ids[24]!}]})
  t.like((await retry(begun)).finals.get(1), {outcome: 'updated', recordId: ids[24]})
})

test.serial('answers that fit no question are refused', async t => {
  make('Wrong', 2)
  const {path, run, questions} = await begin('Wr-', ['Wrong'])
  const refused = async (body: object, status: number, code: string) =>
    t.is((await ok(org.call('POST', `${path}/runs/${run.id}/questions`, body), status)).code, code)
  await refused({}, 400, 'INVALID')
  await refused({answers: [{key: questions[0].key, recordId: '1'}]}, 400, 'INVALID')
  await refused({answers: [{key: '0'.repeat(32), choice: 'skip'}]}, 404, 'NOT_FOUND')
  await refused({answers: [{key: 'x', choice: 'skip'}]}, 400, 'INVALID')
  await refused({rules: [{flowId: 'g', choice: 'skip'}]}, 400, 'INVALID')
  t.is((await ok(org.call('GET', `${path}/runs/${run.id}/questions?cursor=no`), 400)).code, 'INVALID_CURSOR')
})

test.serial('a chosen record is handled by onOne like a single match', async t => {
  const [chosen] = make('Kept', 2)
  const begun = await begin('Ke-', ['Kept'], 'skip')
  await answer(begun, {answers: [{key: begun.questions[0].key, recordId: chosen!.id}]})
  const {finals} = await retry(begun)
  t.like(finals.get(1), {outcome: 'skipped', code: 'MATCH_ONE', recordId: chosen!.id})
  t.is(record(chosen!.id)!.Billing_City, 'Old 0')
})

test.serial('questions about a module that the newest discovery lacks are listed without candidates, and can be answered', async t => {
  make('Departed', 2)
  const begun = await begin('De-', ['Departed'])
  const rename = (from: string, to: string) =>
    here.db.query(sql.unsafe`update discovered_modules set api_name = ${to} where api_name = ${from}`)
  await rename('Accounts', 'Former_Accounts')
  t.teardown(() => rename('Former_Accounts', 'Accounts'))
  const {questions} = await ok(org.call('GET', `${begun.path}/runs/${begun.run.id}/questions`), 200)
  t.like(questions[0], {key: begun.questions[0].key, module: 'Accounts', found: 2, candidates: [], fields: []})
  await answer(begun, {answers: [{key: questions[0].key, choice: 'skip'}]})
})

test.serial('questions of a run that this build cannot read are refused', async t => {
  make('Newer', 2)
  const begun = await begin('Ne-', ['Newer'])
  await here.db.query(sql.unsafe`
    with newer as (
      insert into run_snapshots (format, document)
      select 99, document from run_snapshots s join runs using (snapshot_no) where runs.id = ${begun.run.id} returning snapshot_no)
    update runs set snapshot_no = newer.snapshot_no from newer where id = ${begun.run.id}`)
  const at = `${begun.path}/runs/${begun.run.id}/questions`
  t.like(await org.call('GET', at), {status: 409, body: {code: 'FROM_FUTURE'}})
  const rules = [{flowId: 'f', kind: 'match', choice: 'skip'}]
  t.like(await org.call('POST', at, {rules}), {status: 409, body: {code: 'FROM_FUTURE'}})
})
