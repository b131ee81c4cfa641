import test from 'ava'
import {accountRows, ok, openOrg, prepareImport, readLog, runImport, untilEnded, accounts as writing} from '../support/importing.ts'
import {assertAccounted} from '../support/oracle.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

const flowWith = (match: object = {}, fields: object = {}) => ({
  ...writing,
  match: {...writing.match, unchanged: 'skip', onEdited: 'keep', ...match},
  fields: writing.fields.map(mapping => (mapping.field === 'Billing_City' ? {...mapping, ...fields} : mapping)),
})
const keeping = flowWith()
const updates = {method: 'PUT', path: '/crm/v8/Accounts'}

type Org = Awaited<ReturnType<typeof openOrg>>
type Ended = Awaited<ReturnType<typeof runImport>>

let here: TestDeployment
let org: Org

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery', 'imports'], environment: {CRM_TIMEOUT_SECONDS: '5', CRM_LAG_SECONDS: '1'}})
  org = await openOrg(here)
})

const logOf = ({path, run}: Ended) => readLog(org.call, `${path}/runs/${run.id}`)
const recordOf = (number: string) => here.crm.records('example', 'Accounts').find(({Account_Number: one}) => one === number)!
const edit = (number: string, values: object) => here.crm.update('example', 'Accounts', [{id: recordOf(number).id, ...values}])
const csvOf = (number: string, city: string, name = 'Acme') => `name,number,city\n${name},${number},${city}\n`

test.serial('the first run that keeps edits marks what every flow of the module writes, also a flow that overwrites edits', async t => {
  const flows = [flowWith({onEdited: 'keep'}), flowWith({onEdited: 'overwrite'}, {source: 'town'})]
  const csv = (city: string, town: string) => `name,number,city,town\nAcme,X-1,${city},${town}\n`
  t.is((await runImport(org, {csv: csv('Bern', 'Basel'), flow: flows})).run.keptEdits, 0)
  t.is((await runImport(org, {csv: csv('Genf', 'Chur'), flow: flows})).run.keptEdits, 0)
  t.is(recordOf('X-1').Billing_City, 'Chur')
})

test.serial('a value that a person edited is kept and logged with its field, and the other values are written', async t => {
  await runImport(org, {csv: csvOf('A-1', 'Bern'), flow: keeping})
  edit('A-1', {Billing_City: 'Basel'})
  here.crm.clearJournal()
  const ended = await runImport(org, {csv: csvOf('A-1', 'Genf', 'Acme Ltd'), flow: keeping})
  t.like(recordOf('A-1'), {Billing_City: 'Basel', Account_Name: 'Acme Ltd'})
  t.like(ended.run, {keptEdits: 1, keptRows: 0, unchanged: 0, counts: {Accounts: {updated: 1, skipped: 0}}})
  const log = await logOf(ended)
  t.is(log.length, 2)
  t.like(log[0], {phase: 'edit', outcome: 'skipped', code: 'KEPT_EDIT', target: 'Billing_City', recordId: recordOf('A-1').id})
  t.like(log[1], {phase: 'write', outcome: 'updated'})
  const [sent] = here.crm.journal(updates)
  t.deepEqual(Object.keys(sent!.body.data[0]).sort(), ['Account_Name', 'id'])
  await assertAccounted(here, {org, ...ended, rows: 1})
  // The edit stays, regardless of later files, until the file agrees with it.
  t.like((await runImport(org, {csv: csvOf('A-1', 'Chur', 'Acme Ltd'), flow: keeping})).run, {
    keptEdits: 1,
    counts: {Accounts: {skipped: 1}},
  })
  t.like((await runImport(org, {csv: csvOf('A-1', 'Basel', 'Acme Ltd'), flow: keeping})).run, {keptEdits: 0, unchanged: 1})
  t.like((await runImport(org, {csv: csvOf('A-1', 'Chur', 'Acme Ltd'), flow: keeping})).run, {
    keptEdits: 0,
    counts: {Accounts: {updated: 1}},
  })
  t.is(recordOf('A-1').Billing_City, 'Chur')
})

test.serial('a row is skipped with KEPT_EDIT if every value that differs was edited', async t => {
  await runImport(org, {csv: accountRows(3, 'B-'), flow: keeping})
  edit('B-2', {Billing_City: 'Basel'})
  here.crm.clearJournal()
  const csv = accountRows(3, 'B-').replace('B-2,Town 1', 'B-2,Bern')
  const planned = await runImport(org, {csv, flow: keeping, start: {dryRun: true}})
  const ended = await runImport(org, {csv, flow: keeping})
  for (const {run} of [planned, ended])
    t.like(run, {unchanged: 2, keptEdits: 1, keptRows: 1, progress: {done: 3}, counts: {Accounts: {skipped: 3, planned: 0, updated: 0}}})
  t.deepEqual(here.crm.journal(updates), [])
  const log = (await logOf(ended)).filter(({code}) => code === 'KEPT_EDIT')
  t.deepEqual(
    log.map(({phase, target, recordId}) => [phase, target, recordId]),
    [
      ['edit', 'Billing_City', recordOf('B-2').id],
      ['write', '', recordOf('B-2').id],
    ],
  )
})

test.serial('a record without marks is written, or its values are kept if the flow says so', async t => {
  here.crm.create('example', 'Accounts', [{Account_Name: 'Acme', Account_Number: 'C-1', Billing_City: 'Old'}])
  const kept = await runImport(org, {csv: csvOf('C-1', 'Bern'), flow: flowWith({onUnknown: 'keep'})})
  t.like(kept.run, {keptEdits: 1, counts: {Accounts: {skipped: 1}}})
  t.is(recordOf('C-1').Billing_City, 'Old')
  const written = await runImport(org, {csv: csvOf('C-1', 'Bern'), flow: keeping})
  t.like(written.run, {keptEdits: 0, counts: {Accounts: {updated: 1}}})
  edit('C-1', {Billing_City: 'Mine'})
  t.is((await runImport(org, {csv: csvOf('C-1', 'Genf'), flow: keeping})).run.keptEdits, 1)
})

test.serial('an unchanged row is the base of later comparisons', async t => {
  here.crm.create('example', 'Accounts', [{Account_Name: 'Acme', Account_Number: 'D-1', Billing_City: 'Bern'}])
  t.is((await runImport(org, {csv: csvOf('D-1', 'Bern'), flow: keeping})).run.unchanged, 1)
  edit('D-1', {Billing_City: 'Basel'})
  t.is((await runImport(org, {csv: csvOf('D-1', 'Genf'), flow: keeping})).run.keptEdits, 1)
})

test.serial('what another import of the module writes is no edit, also if it overwrites edits', async t => {
  await runImport(org, {csv: csvOf('E-1', 'Bern'), flow: keeping})
  await runImport(org, {csv: csvOf('E-1', 'Basel'), flow: writing})
  t.is((await runImport(org, {csv: csvOf('E-1', 'Genf'), flow: keeping})).run.keptEdits, 0)
  t.is(recordOf('E-1').Billing_City, 'Genf')
})

test.serial('the choice of a mapping takes precedence over that of the flow, the module and the org', async t => {
  const settings = (onEdited: string | null) => ok(org.call('PATCH', `/orgs/${org.org}/config/settings`, {onEdited}), 200)
  const module = (onEdited: string | null) => ok(org.call('PATCH', `/orgs/${org.org}/config/modules/Accounts`, {onEdited}), 200)
  let city = 0
  const edited = async (flow: object) => {
    await runImport(org, {csv: csvOf('F-1', `Town ${++city}`), flow: flowWith({onEdited: 'keep'})})
    await runImport(org, {csv: csvOf('F-1', `Town ${++city}`), flow: writing})
    edit('F-1', {Billing_City: 'Mine'})
    const {run} = await runImport(org, {csv: csvOf('F-1', `Town ${++city}`), flow})
    const is = recordOf('F-1').Billing_City === 'Mine' ? 'kept' : 'overwritten'
    await runImport(org, {csv: csvOf('F-1', `Town ${++city}`), flow: writing})
    return run.questions > 0 ? 'asked' : is
  }
  const usual = flowWith({onEdited: undefined})
  t.is(await edited(usual), 'overwritten', 'a manual import')
  t.is((await settings('keep')).settings.onEdited, 'keep')
  t.is(await edited(usual), 'kept', 'the org')
  t.is((await module('overwrite')).module.onEdited, 'overwrite')
  t.is(await edited(usual), 'overwritten', 'the module')
  t.is(await edited(flowWith({onEdited: 'ask'})), 'asked', 'the flow')
  t.is(await edited(flowWith({onEdited: 'ask'}, {onEdited: 'keep'})), 'kept', 'the mapping')
  await module(null)
  await settings(null)
  t.is(await edited(usual), 'overwritten')
})

test.serial('rows of one record are written in their order, and keep an edit made before the run', async t => {
  await runImport(org, {csv: csvOf('G-1', 'Bern'), flow: keeping})
  const csv = 'name,number,city\nAcme,G-1,Bern\nAcme,G-1,Basel\nAcme,G-1,Bern\nAcme Ltd,G-1,Chur\n'
  const {run} = await runImport(org, {csv, flow: keeping})
  t.like(run, {keptEdits: 0, counts: {Accounts: {skipped: 1, updated: 3}}})
  t.like(recordOf('G-1'), {Billing_City: 'Chur', Account_Name: 'Acme Ltd'})
  edit('G-1', {Billing_City: 'Mine'})
  const again = await runImport(org, {csv, flow: keeping})
  t.is(again.run.keptEdits, 4)
  t.like(recordOf('G-1'), {Billing_City: 'Mine', Account_Name: 'Acme Ltd'})
  const planned = await runImport(org, {csv: csv.replaceAll('Acme', 'Bolt'), flow: keeping, start: {dryRun: true}})
  t.is(planned.run.keptEdits, 4)
})

test.serial('an update that was not answered leaves both values as the base', async t => {
  await runImport(org, {csv: csvOf('H-1', 'Bern'), flow: keeping})
  here.crm.faults.add({match: updates, times: 50, action: 'dropAfter'})
  const {run} = await runImport(org, {csv: csvOf('H-1', 'Basel'), flow: keeping})
  t.like(run.counts.Accounts, {unanswered: 1})
  here.crm.faults.clear()
  t.is(recordOf('H-1').Billing_City, 'Basel')
  t.like((await runImport(org, {csv: csvOf('H-1', 'Genf'), flow: keeping})).run, {keptEdits: 0, counts: {Accounts: {updated: 1}}})
})

test.serial('a question asks about each edited value, and a retry applies the answers', async t => {
  const asking = flowWith({onEdited: 'ask'})
  const csv = accountRows(4, 'I-')
  await runImport(org, {csv, flow: asking})
  for (const number of ['I-1', 'I-2', 'I-3']) edit(number, {Billing_City: `Mine ${number}`})
  const {path} = await prepareImport(org, {csv: csv.replaceAll('Town', 'City'), flow: asking})
  const start = async (body: object) => {
    const {run} = await ok(org.call('POST', `${path}/runs`, body), 202)
    return untilEnded(org.call, `${path}/runs/${run.id}`)
  }
  const dry = await start({dryRun: true})
  t.like(dry.counts.Accounts, {skipped: 3, planned: 1})
  const first = await start({})
  t.like(first, {questions: 3, keptEdits: 0, counts: {Accounts: {skipped: 3, updated: 1}}})
  const list = async (run: any) => (await ok(org.call('GET', `${path}/runs/${run.id}/questions`), 200)).questions as any[]
  const questions = await list(first)
  const keyOf = (number: number) => questions.find(({rowNumbers}) => rowNumbers.includes(number)).key
  t.like(
    questions.find(({key}) => key === keyOf(2)),
    {kind: 'edit', module: 'Accounts', field: 'Billing_City', found: 1, rows: 1, candidates: [{Billing_City: 'Mine I-2'}]},
  )
  const answer = (run: any, body: object) => ok(org.call('POST', `${path}/runs/${run.id}/questions`, body), 200)
  await answer(first, {
    answers: [
      {key: keyOf(1), choice: 'overwrite'},
      {key: keyOf(2), choice: 'keep'},
    ],
  })
  const second = await start({retryOf: first.id})
  t.like(second, {questions: 1, keptEdits: 1, counts: {Accounts: {inherited: 1, updated: 1, skipped: 2}}})
  t.is(recordOf('I-1').Billing_City, 'City 0')
  t.is(recordOf('I-2').Billing_City, 'Mine I-2')
  // If a value is edited again, the run asks again. A rule answers all questions about the field.
  edit('I-2', {Billing_City: 'Mine again'})
  const third = await start({retryOf: second.id})
  t.is(third.questions, 2)
  const {rules} = await answer(third, {rules: [{flowId: 'f', kind: 'edit', field: 'Billing_City', choice: 'overwrite'}]})
  t.deepEqual(rules, [{flowId: 'f', kind: 'edit', field: 'Billing_City', choice: 'overwrite'}])
  // `ask` removes the rule about the field, so the rule about the flow applies again.
  const rule = (field: string | null, choice: string) => ({flowId: 'f', kind: 'edit', ...(field && {field}), choice})
  await answer(third, {rules: [rule(null, 'overwrite')]})
  const left = await answer(third, {rules: [rule('Billing_City', 'ask')]})
  t.deepEqual(left.rules, [{...rule(null, 'overwrite'), field: null}])
  const fourth = await start({retryOf: third.id})
  t.like(fourth, {questions: 0, counts: {Accounts: {updated: 2, inherited: 2}}})
  t.deepEqual(
    ['I-1', 'I-2', 'I-3'].map(number => recordOf(number).Billing_City),
    ['City 0', 'City 1', 'City 2'],
  )
})

test.serial('if the CRM refuses to show the records, every value counts as unknown, and the choice for unknown values decides', async t => {
  await runImport(org, {csv: csvOf('Z-1', 'Bern'), flow: keeping})
  edit('Z-1', {Billing_City: 'Basel'})
  const denied = {code: 'NO_PERMISSION', details: {}, message: 'permission denied', status: 'error'}
  here.crm.faults.add({match: {method: 'GET', path: '/crm/v8/Accounts'}, times: 50, action: {type: 'answer', status: 403, body: denied}})
  // Because of a second flow, the run reads the records by id.
  const second = {...keeping, id: 'second', match: {...keeping.match, onUnknown: 'write'}}
  const kept = await runImport(org, {
    csv: csvOf('Z-1', 'Genf'),
    flow: [flowWith({onUnknown: 'keep'}), {...second, fields: second.fields.slice(0, 2)}],
  })
  t.is(recordOf('Z-1').Billing_City, 'Basel')
  t.is(kept.run.state, 'ended')
  const dry = await runImport(org, {csv: csvOf('Z-1', 'Chur'), flow: [flowWith({onUnknown: 'write'}), second], start: {dryRun: true}})
  t.is(dry.run.stop, null, 'the dry run needs no values of the records either')
  t.true((await logOf(dry)).some(({outcome}) => outcome === 'planned'))
  await runImport(org, {csv: csvOf('Z-1', 'Chur'), flow: [flowWith({onUnknown: 'write'}), second]})
  t.is(recordOf('Z-1').Billing_City, 'Chur')
  here.crm.faults.clear()
})
