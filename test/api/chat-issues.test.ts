import anyTest, {type TestFn} from 'ava'
import {sql} from '../../sql/database.ts'
import {archiveAll} from '../../workers/archive.ts'
import {putOnCredits} from '../support/ai.ts'
import {calls, chat, openImport, openTalking, resultOf, type Talking} from '../support/conversations.ts'
import {checkFile} from '../support/import-checks.ts'
import {accountRows, accounts, ok, openOrg, readLog, runImport, undoRun, untilEnded} from '../support/importing.ts'

/** The tests run serially, because they share one model. */
const test = anyTest.serial as TestFn<Talking>
test.before(async t => void Object.assign(t.context, await openTalking(t, {workers: ['checks', 'discovery', 'imports']})))
test.beforeEach(t => t.context.model.clear())

test('a problem is explained by kind, counts, fix and permitted cell samples', async t => {
  const {house, model} = t.context
  const talk = await openImport(house)
  const csv = `Last Name,Joined,City\n${['Zwölfender,tomorrowish,Entenhausen', 'Quittenmus,perhapsly,Posemuckel', ',2024-01-02,Entenhausen'].join('\n')}\n`
  const fields = [
    {field: 'Last_Name', mode: 'column', source: 'Last Name'},
    {field: 'Joined', mode: 'column', source: 'Joined'},
  ]
  const {path, source, problems} = await checkFile({...talk, session: talk.token}, csv, {module: 'People', fields})
  t.true(problems.length >= 2)
  const importId = path.split('/').at(-1)!
  model.script(calls('explain_issue', {kind: 'invalid_value', module: null, field: null}), {text: 'Dates are missing.'})
  const place = ['issue', source.id, 'invalid_value', 'People', 'Joined']
  const answer = await chat(talk, {message: 'Why?', import: importId, place})
  const [problem] = resultOf(answer).problems
  t.like(problem, {
    kind: 'invalid_value',
    module: 'People',
    field: 'Joined',
    column: 'Joined',
    rows: 2,
    values: ['tomorrowish', 'perhapsly'],
  })
  t.is(typeof problem.fix, 'string')
  t.like(resultOf(answer), {checked: {stale: false}, run: null, dryRun: null})
  const asked = JSON.parse(JSON.parse(model.journal[0]!.body).messages.at(-1).content)
  t.deepEqual(asked.about, {kind: 'issue', problem: 'invalid_value', module: 'People', field: 'Joined'})
  await ok(talk.call('PATCH', talk.at('settings'), {aiSamplePolicy: 'deny'}), 200)
  await ok(talk.call('PUT', `${path}/flows`, [{id: 'f', sourceId: source.id, module: 'People', fields: fields.slice(0, 1)}]), 200)
  model.clear()
  model.script(calls('explain_issue', {kind: null, module: null, field: null}), {text: 'Still.'})
  const denied = await chat(talk, {message: 'Why?', import: importId, place})
  t.is(denied.done.samples, 'none')
  t.true(resultOf(denied).checked.stale)
  t.notRegex(model.received(), /tomorrowish|perhapsly|Zwölfender|Quittenmus|Entenhausen|Posemuckel/)
})

test('the last run is reported by outcomes, codes and counts, without record contents', async t => {
  const {house, model} = t.context
  const org = await openOrg(house)
  await putOnCredits(house, org.org, 1_000)
  const csv = `name,number,city\n${['Glump & Sons', 'Hurz KG'].map((name, n) => `${name},A-${n},Ulm`).join('\n')}\n`
  const refusal = {type: 'refuse', index: 1, code: 'INVALID_DATA', message: 'Not this: Hurz KG'} as const
  house.crm.faults.add({match: {method: 'POST', path: '/crm/v8/Accounts'}, action: refusal})
  const {path, run} = await runImport(org, {csv, flow: accounts})
  model.script(calls('explain_issue', {kind: null, module: 'Accounts', field: null}), {text: 'Ah.'})
  const explained = async () => resultOf(await chat(org, {message: 'What happened?', import: path.split('/').at(-1), place: ['run']})).run
  const told = await explained()
  t.deepEqual(told.counts, run.counts)
  t.deepEqual(told.failures, [{module: 'Accounts', outcome: 'refused', code: 'INVALID_DATA', count: 1}])
  await archiveAll({...house.tools, drain: new AbortController().signal})
  model.script(calls('explain_issue', {kind: null, module: 'Accounts', field: null}), {text: 'Ah.'})
  t.deepEqual(await explained(), told, 'the log is in storage')
  await house.hot.query('update runs set expired_at = lading_now() where id = $1', [run.id])
  model.script(calls('explain_issue', {kind: null, module: 'Accounts', field: null}), {text: 'Ah.'})
  const expired = await explained()
  t.deepEqual({...expired, note: ''}, {...told, failures: null, note: ''}, 'the counts stay')
  t.regex(expired.note, /Only its counts are left/)
  t.notRegex(model.received(), /Glump|Hurz/)
})

test('a row that was sent again and written is no failure of the last run', async t => {
  const {house, model} = t.context
  const org = await openOrg(house)
  await putOnCredits(house, org.org, 1_000)
  house.crm.faults.add({match: {method: 'POST', path: '/crm/v8/Accounts'}, times: 1, action: 'dropBefore'})
  const {path, run} = await runImport(org, {csv: accountRows(2, 'again-'), flow: accounts})
  t.like(run.counts.Accounts, {created: 2, unanswered: 0})
  const outcomes = (await readLog(org.call, `${path}/runs/${run.id}`)).map(({outcome}) => outcome)
  t.deepEqual(outcomes, ['unanswered', 'unanswered', 'created', 'created'])
  model.script(calls('explain_issue', {kind: null, module: null, field: null}), {text: 'All is well.'})
  const explained = resultOf(await chat(org, {message: 'Why did rows fail?', import: path.split('/').at(-1), place: ['run']}))
  t.deepEqual(explained.run.failures, [])
})

test('the last run is a started run that writes, beside a newer dry run; undos are left out', async t => {
  const {house, model} = t.context
  const org = await openOrg(house)
  await putOnCredits(house, org.org, 1_000)
  const refusal = {type: 'refuse', index: 1, code: 'INVALID_DATA', message: 'Not this'} as const
  house.crm.faults.add({match: {method: 'POST', path: '/crm/v8/Accounts'}, action: refusal})
  const {path, run} = await runImport(org, {csv: accountRows(2, 'last-'), flow: accounts})
  const importId = path.split('/').at(-1)!
  const explain = async () => {
    model.script(calls('explain_issue', {kind: null, module: null, field: null}), {text: 'Ah.'})
    return resultOf(await chat(org, {message: 'What happened?', import: importId, place: ['run']}))
  }
  const failures = [{module: 'Accounts', outcome: 'refused', code: 'INVALID_DATA', count: 1}]
  const last = {counts: run.counts, failures, isRetry: false, isUndoBegun: false}
  const alone = await explain()
  t.like(alone, {run: last})
  t.is(alone.dryRun, null)
  const {run: dry} = await ok(org.call('POST', `${path}/runs`, {dryRun: true}), 202)
  const {counts} = await untilEnded(org.call, `${path}/runs/${dry.id}`)
  await ok(org.call('POST', '/entitlements/runs/authorise', {declaredRows: 2, importId}), 200)
  t.like(await explain(), {run: last, dryRun: {counts, failures: [], stale: false}})
  await house.db.query(sql.unsafe`
    update runs set engine = 'worker', state = 'ended', ended_at = lading_now() where import_no = (select import_no from runs where id = ${run.id}) and engine is null`)
  t.like(await explain(), {run: last}, 'a run that ended before it began wrote nothing')
  await undoRun(org, {path, run})
  t.like(await explain(), {run: {...last, isUndoBegun: true}, dryRun: {counts}})
})
