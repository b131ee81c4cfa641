import anyTest, {type TestFn} from 'ava'
import {checkImport} from '../support/import-checks.ts'
import {accountRows, accounts, type Org, ok, openOrg, prepareImport, readLog, runImport, untilEnded} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

/** The tests run serially, because they share one deployment. */
const test = anyTest.serial as TestFn<{here: TestDeployment; org: Org}>

test.before(async t => {
  const here = await startTestDeployment(t, {
    workers: ['discovery', 'imports', 'checks'],
    environment: {CRM_TIMEOUT_SECONDS: '20', CRM_LAG_SECONDS: '1', LEASE_SECONDS: '10'},
  })
  Object.assign(t.context, {here, org: await openOrg(here)})
})
test.beforeEach(async ({context: {here}}) => {
  here.crm.clear()
  await here.ahead('0 seconds')
})

const names = Array.from({length: 80}, (_, n) => `Answer_${n + 1}`)
const surveys = {
  module: 'Surveys',
  match: {by: ['Name'], onOne: 'update', onMany: 'skip', unchanged: 'skip'},
  fields: ['Name', ...names].map(field => ({field, mode: 'column', source: field, empty: 'clear'})),
}
/** Returns a file of surveys. `answers`: the last answer of each survey, by name. */
const surveyFile = (answers: Record<string, string>) => {
  const lines = Object.entries(answers).map(([name, last]) => [name, ...names.map((_, n) => (n === 79 ? last : `${name} ${n}`))])
  return `${[['Name', ...names], ...lines].map(cells => cells.join(',')).join('\n')}\n`
}
const callsTo = (here: TestDeployment, method: string, module: string) => here.crm.journal({method, path: `/crm/v8/${module}`})
const rerun = async ({call}: Org, path: string, start: object) => {
  const {run} = await ok(call('POST', `${path}/runs`, start), 202)
  return untilEnded(call, `${path}/runs/${run.id}`)
}

test('fields beyond the columns of a query are read by id, and only a changed row is written', async t => {
  const {here, org} = t.context
  const csv = (last: string) => surveyFile(Object.fromEntries(Array.from({length: 30}, (_, n) => [`S${n}`, n === 7 ? last : 'same'])))
  await runImport(org, {csv: csv('same'), flow: surveys})
  await here.ahead('1 minute')
  here.crm.clearJournal()
  t.like((await runImport(org, {csv: csv('same'), flow: surveys})).run, {unchanged: 30, creditsSaved: 3})
  t.is(callsTo(here, 'PUT', 'Surveys').length, 0)
  const reads = callsTo(here, 'GET', 'Surveys').map(({query}) => ({ids: query.ids!.split(','), fields: query.fields!.split(',')}))
  t.is(reads.flatMap(({ids}) => ids).length, 30)
  t.true(reads.every(({fields}) => fields.length === 81 - 48))
  await here.ahead('2 minutes')
  const {run} = await runImport(org, {csv: csv('other'), flow: surveys})
  t.like(run.counts.Surveys, {updated: 1, skipped: 29})
})

test('check, dry run, plan, run and retry agree on every row of a wide file', async t => {
  const {here, org} = t.context
  await runImport(org, {csv: surveyFile({Same: 'a', Changed: 'a', Cleared: 'a', Twice: 'a', Long: 'a'}), flow: surveys})
  await here.ahead('1 minute')
  const csv = `${surveyFile({Same: 'a', Changed: 'b', Cleared: '', New: 'a', Long: 'x'.repeat(101), Twice: 'b'})}${surveyFile({Twice: 'a'}).split('\n')[1]}\n`
  const {path} = await prepareImport(org, {csv, flow: surveys})
  const outcomes = ['skipped UNCHANGED', 'updated', 'updated', 'created', 'failed', 'updated', 'updated']
  const {problems} = await checkImport(org, path)
  t.deepEqual(
    problems.filter(({severity}) => severity === 'error').flatMap(({rows}) => rows),
    [5],
  )
  const outcomesOf = async (run: any) => {
    const log = await readLog(org.call, `${path}/runs/${run.id}`)
    const ofRow = (number: number) => log.findLast(({rowNumber}) => rowNumber === number)
    return outcomes.map((_, n) => {
      const {outcome, code, message} = ofRow(n + 1)
      return outcome === 'planned' ? `${/^(create|update)/.exec(message)![1]}d` : code === 'UNCHANGED' ? `${outcome} ${code}` : outcome
    })
  }
  const planned = await rerun(org, path, {dryRun: true})
  t.deepEqual(await outcomesOf(planned), outcomes, 'dry run')
  const {text} = await org.call('GET', `${path}/plan.csv?run=${planned.id}`)
  const actions = new Map(
    text
      .trim()
      .split('\r\n')
      .slice(1)
      .map(line => [line.split(',')[0], line.split(',')[3]]),
  )
  t.deepEqual([...actions.values()], ['skip', 'update', 'update', 'create', 'fail', 'update', 'update'])
  const run = await rerun(org, path, {})
  t.deepEqual(await outcomesOf(run), outcomes, 'run')
  const retry = await rerun(org, path, {retryOf: run.id})
  t.deepEqual(
    await outcomesOf(retry),
    outcomes.map(outcome => (/^(created|updated)/.test(outcome) ? 'inherited' : outcome)),
    'retry',
  )
})

test('a retry skips an update that was never answered if its record holds the values by now', async t => {
  const {here, org} = t.context
  const flow = {...accounts, match: {...accounts.match, unchanged: 'skip'}}
  await runImport(org, {csv: accountRows(2), flow})
  here.crm.faults.add({match: {method: 'PUT', path: '/crm/v8/Accounts'}, times: 99, action: 'dropAfter'})
  const {path, run} = await runImport(org, {csv: accountRows(2).replaceAll('Town', 'City'), flow})
  t.like(run.counts.Accounts, {unanswered: 2})
  here.crm.faults.clear()
  await here.ahead('5 minutes')
  here.crm.clearJournal()
  const planned = await rerun(org, path, {retryOf: run.id, dryRun: true})
  t.like(planned.counts.Accounts, {skipped: 2, planned: 0})
  const retry = await rerun(org, path, {retryOf: run.id})
  t.like(retry.counts.Accounts, {skipped: 2, updated: 0, unanswered: 0})
  t.like(retry, {unchanged: 2, rowsWritten: 0})
  t.is(callsTo(here, 'PUT', 'Accounts').length, 0)
})

test('rows linked to rows of the same file, above and below, are not written again', async t => {
  const {here, org} = t.context
  const flow = {
    ...accounts,
    match: {...accounts.match, unchanged: 'skip'},
    parent: {field: 'Parent_Account', flow: 'f', key: {parentColumn: 'number', childColumn: 'parent'}},
  }
  const csv = 'name,number,city,parent\nOne,P-1,Bern,P-3\nTwo,P-2,Bern,P-1\nThree,P-3,Bern,\n'
  await runImport(org, {csv, flow})
  const parentOf = (number: string) => {
    const records = here.crm.records('example', 'Accounts')
    const {Parent_Account: parent} = records.find(({Account_Number}) => Account_Number === number)!
    return parent && records.find(({id}) => id === parent.id)!.Account_Number
  }
  t.deepEqual(['P-1', 'P-2', 'P-3'].map(parentOf), ['P-3', 'P-1', null])
  here.crm.clearJournal()
  t.like((await runImport(org, {csv, flow})).run.counts.Accounts, {skipped: 3, updated: 0})
  t.is(callsTo(here, 'PUT', 'Accounts').length, 0)
  const {run} = await runImport(org, {csv: csv.replace('One,P-1,Bern,P-3', 'One,P-1,Bern,P-2'), flow})
  t.is(run.stop, null)
  t.deepEqual(['P-1', 'P-2', 'P-3'].map(parentOf), ['P-2', 'P-1', null])
})
