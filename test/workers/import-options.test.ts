import anyTest, {type TestFn} from 'ava'
import {
  accountRows,
  type Org,
  ok,
  openOrg,
  prepareImport,
  readLog,
  runImport,
  untilEnded,
  accounts as writing,
} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

const test = anyTest.serial as TestFn<{here: TestDeployment; org: Org; layout: string; rule: string}>

test.before(async t => {
  const here = await startTestDeployment(t, {
    workers: ['discovery', 'imports', 'checks'],
    environment: {CRM_TIMEOUT_SECONDS: '2', CRM_LAG_SECONDS: '1'},
  })
  const layout = here.crm.addLayout('example', 'Accounts', {name: 'Short', without: ['Billing_City'], required: ['Phone']})
  const rule = here.crm.addAssignmentRule('example', 'Accounts', {name: 'By region', assignTo: 'ben@example.org'})
  Object.assign(t.context, {here, layout, rule, org: await openOrg(here)})
})
test.beforeEach(t => {
  t.context.here.crm.faults.clear()
  t.context.here.crm.clearJournal()
})

const accounts = {...writing, match: {...writing.match, unchanged: undefined}}
const phone = {field: 'Phone', mode: 'column', source: 'phone'}
const creates = {method: 'POST', path: '/crm/v8/Accounts'}
const tagCalls = {method: 'POST', path: '/crm/v8/Accounts/actions/add_tags'}

const recordsOf = ({crm}: TestDeployment, prefix: string): any[] =>
  crm.records('example', 'Accounts').filter(({Account_Number: number}) => String(number).startsWith(prefix))
const tagsOf = (here: TestDeployment, prefix: string): string[][] => recordsOf(here, prefix).map(({Tag}) => Tag.map(({name}: any) => name))
const bodies = ({crm}: TestDeployment, filter: object): any[] => crm.journal(filter).map(({body}) => body)
const logOf = (org: Org, {path, run}: {path: string; run: any}) => readLog(org.call, `${path}/runs/${run.id}`)
const tagEntries = (log: any[]) => log.filter(({phase}) => phase === 'tag')

const retry = async (org: Org, {path, run}: {path: string; run: any}) => {
  const {run: next} = await ok(org.call('POST', `${path}/runs`, {retryOf: run.id}), 202)
  return {path, run: await untilEnded(org.call, `${path}/runs/${next.id}`)}
}

test('the discovery reads layouts and assignment rules, and the list of modules shows them', async t => {
  const {org, layout, rule} = t.context
  const {discovery} = await ok(org.call('GET', `/orgs/${org.org}/discovery/latest`), 200)
  const found = discovery.modules.find(({apiName}: any) => apiName === 'Accounts')
  const short = found.layouts.find(({id}: any) => id === layout)
  t.like(short, {name: 'Short', required: ['Phone']})
  t.false(short.fields.includes('Billing_City'))
  t.deepEqual(found.assignmentRules, [{id: rule, name: 'By region'}])
  const {modules} = await ok(org.call('GET', `/orgs/${org.org}/config/modules`), 200)
  const configured = modules.find(({apiName}: any) => apiName === 'Accounts')
  t.deepEqual(
    configured.layouts.map(({name}: any) => name),
    ['Standard', 'Short'],
  )
  t.like(configured, {assignmentRules: [{id: rule, name: 'By region'}], hasWriteOptions: true})
})

test('a connection without the scope of assignment rules is discovered without them', async t => {
  const {here, org} = t.context
  const body = {code: 'OAUTH_SCOPE_MISMATCH', details: {}, message: 'Unauthorized', status: 'error'}
  const rules = {method: 'GET', path: '/crm/v8/settings/automation/assignment_rules'}
  here.crm.faults.add({match: rules, times: 100, action: {type: 'answer', status: 401, body}})
  const discover = () => ok(org.call('POST', `/orgs/${org.org}/discovery/run`, {connectorId: org.connector}, {prefer: 'wait=30'}), 200)
  await discover()
  const {discovery} = await ok(org.call('GET', `/orgs/${org.org}/discovery/latest`), 200)
  t.true(discovery.modules.every((module: any) => !('assignmentRules' in module)))
  t.true(here.crm.journal(rules).length <= 4, 'modules that are read at once ask at most once each')
  here.crm.faults.clear()
  await discover()
})

test('creates and updates start the automations that the flow asks for, and none without', async t => {
  const {here, org} = t.context
  await runImport(org, {csv: accountRows(2, 'Oa-'), flow: accounts})
  await runImport(org, {csv: accountRows(3, 'Oa-'), flow: {...accounts, automations: true}})
  const triggers = here.crm.journal({path: '/crm/v8/Accounts'}).flatMap(({body}) => (body?.trigger ? [body.trigger] : []))
  const all = ['workflow', 'approval', 'blueprint']
  t.deepEqual(triggers, [[], all, all], 'an unchanged record is written too, so that automations run')
  const notes = here.crm
    .automations('example')
    .filter(({module}) => module === 'Accounts')
    .slice(-2)
  t.deepEqual(notes.map(({operation, ran}) => [operation, ran]).toSorted(), [
    ['create', all],
    ['update', all],
  ])
})

test('created records get the owner of the assignment rule and the layout, and updates keep their owner', async t => {
  const {here, org, layout, rule} = t.context
  const flow = {...accounts, layout, assignmentRule: rule, fields: [...accounts.fields.slice(0, 2), phone]}
  await runImport(org, {csv: 'name,number,phone\nAcme,Ob-1,1\n', flow})
  await runImport(org, {csv: 'name,number,phone\nAcme,Ob-1,2\n', flow})
  t.like(recordsOf(here, 'Ob-')[0], {Owner: {email: 'ben@example.org'}, Layout: {id: layout}, Phone: '2'})
  t.deepEqual(
    bodies(here, creates).map(({lar_id}) => lar_id),
    [rule],
  )
  t.true(bodies(here, {method: 'PUT', path: '/crm/v8/Accounts'}).every(body => !('lar_id' in body) && body.data[0].Layout.id === layout))
})

test('a field outside the layout is announced before the run and never sent, so a repeated import changes nothing', async t => {
  const {here, org, layout} = t.context
  const flow = {...accounts, layout, fields: [...accounts.fields, phone]}
  const csv = 'name,number,city,phone\nAcme,Oc-1,Bern,1\n'
  const {path, source} = await prepareImport(org, {csv, flow})
  const {warnings} = await ok(org.call('PUT', `${path}/flows`, [{id: 'f', sourceId: source.id, ...flow}]), 200)
  t.deepEqual(
    warnings.map(({path}: any) => path),
    [[0, 'fields', 2, 'field']],
  )
  const {job} = await ok(org.call('POST', `${path}/checks`, undefined, {prefer: 'wait=30'}), 200)
  t.like(job.result, {warnings: 1, errors: 0})
  const {problems} = await ok(org.call('GET', `${path}/checks`), 200)
  t.like(problems[0], {kind: 'not_on_layout', severity: 'warning', field: 'Billing_City', column: 'city'})
  await runImport(org, {csv, flow})
  t.false('Billing_City' in bodies(here, creates)[0].data[0])
  const {run} = await runImport(org, {csv, flow})
  t.like(run, {unchanged: 1})
})

test('a patched field outside the layout is announced and not patched, because the CRM would drop it and report success', async t => {
  const {here, org, layout} = t.context
  const [name, number, city] = accounts.fields
  const flow = {...accounts, layout, fields: [name, number, phone, {...city, patch: {}}]}
  const {path, source} = await prepareImport(org, {csv: 'name,number,phone,city\nAcme,Op-1,1,Bern\n', flow})
  const {warnings} = await ok(org.call('PUT', `${path}/flows`, [{id: 'f', sourceId: source.id, ...flow}]), 200)
  t.deepEqual(
    warnings.map(({path}: any) => path),
    [[0, 'fields', 3, 'field']],
  )
  const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  t.like(await untilEnded(org.call, `${path}/runs/${run.id}`), {counts: {Accounts: {created: 1, updated: 0}}})
  t.is(bodies(here, {method: 'PUT', path: '/crm/v8/Accounts'}).length, 0)
})

test('the dry run predicts each create that lacks a field of its layout, with the code of the run', async t => {
  const {org, layout} = t.context
  const flow = {...accounts, layout, fields: [...accounts.fields.slice(0, 2), phone]}
  const csv = 'name,number,phone\nAcme,Od-1,1\nBeta,Od-2,\nGamma,Od-3,3\n'
  const dry = await runImport(org, {csv, flow, start: {dryRun: true}})
  const real = await runImport(org, {csv, flow})
  const endsOf = async (ended: {path: string; run: any}) =>
    (await logOf(org, ended)).map(({rowNumber, outcome, code}) => [rowNumber, outcome, code])
  t.deepEqual((await endsOf(dry)).toSorted(), [
    [1, 'planned', null],
    [2, 'refused', 'MANDATORY_NOT_FOUND'],
    [3, 'planned', null],
  ])
  t.deepEqual((await endsOf(real)).toSorted(), [
    [1, 'created', null],
    [2, 'refused', 'MANDATORY_NOT_FOUND'],
    [3, 'created', null],
  ])
  const {job} = await ok(org.call('POST', `${real.path}/checks`, undefined, {prefer: 'wait=30'}), 200)
  t.is(job.result.warnings + job.result.errors, 1, 'the check names the row too')
})

test('a create may leave out a field of its layout that the CRM fills, as the dry run and the check say', async t => {
  const {here, org} = t.context
  here.crm.addField('example', 'Accounts', {name: 'Grade', type: 'text', default: 'C'})
  const layout = here.crm.addLayout('example', 'Accounts', {name: 'Graded', without: [], required: ['Grade']})
  await ok(org.call('POST', `/orgs/${org.org}/discovery/run`, {connectorId: org.connector}, {prefer: 'wait=30'}), 200)
  const grade = {field: 'Grade', mode: 'column', source: 'grade'}
  const flow = {...accounts, layout, fields: [...accounts.fields.slice(0, 2), grade]}
  const csv = 'name,number,grade\nAcme,Ok-1,A\nBeta,Ok-2,\n'
  const dry = await runImport(org, {csv, flow, start: {dryRun: true}})
  t.deepEqual(
    (await logOf(org, dry)).map(({outcome}) => outcome),
    ['planned', 'planned'],
  )
  const {job} = await ok(org.call('POST', `${dry.path}/checks`, undefined, {prefer: 'wait=30'}), 200)
  t.like(job.result, {warnings: 0, errors: 0})
  t.like((await runImport(org, {csv, flow})).run, {counts: {Accounts: {created: 2}}})
  t.deepEqual(
    recordsOf(here, 'Ok-')
      .map(({Grade}) => Grade)
      .toSorted(),
    ['A', 'C'],
  )
})

test('written records get the tags of the flow beside their own, and unwritten rows get none', async t => {
  const {here, org} = t.context
  here.crm.create('example', 'Accounts', [{Account_Name: 'Old', Account_Number: 'Oe-1'}])
  const flow = {...accounts, tags: ['Fair']}
  const {run, path} = await runImport(org, {csv: accountRows(120, 'Oe-'), flow})
  t.deepEqual(
    tagsOf(here, 'Oe-'),
    Array.from({length: 120}, () => ['Fair']),
  )
  const log = tagEntries(await logOf(org, {path, run}))
  t.is(log.length, 120)
  t.true(log.every(({outcome, recordId}) => outcome === 'updated' && recordId))
  t.like(run, {counts: {Accounts: {created: 119, updated: 1}}, rowsWritten: 120})
  here.crm.clearJournal()
  await runImport(org, {csv: accountRows(120, 'Oe-'), flow: {...flow, tags: ['May']}})
  t.deepEqual(bodies(here, tagCalls), [], 'unchanged rows write nothing')
})

test('rows of one record are tagged by one call, and each row is logged', async t => {
  const {here, org} = t.context
  const csv = `name,number,city\n${Array.from({length: 40}, (_, n) => `C,Oj-${n % 2},Town ${n}`).join('\n')}\n`
  const {run, path} = await runImport(org, {csv, flow: {...accounts, tags: ['Fair']}})
  t.deepEqual(tagsOf(here, 'Oj-'), [['Fair'], ['Fair']])
  t.is(bodies(here, tagCalls).length, 1)
  const log = tagEntries(await logOf(org, {path, run}))
  t.deepEqual(
    log.map(({rowNumber, attempt, outcome}) => [rowNumber, attempt, outcome]).sort(([a], [b]) => a - b),
    Array.from({length: 40}, (_, n) => [n + 1, 1, 'updated']),
  )
})

test('a dry run adds no tags', async t => {
  const {here, org} = t.context
  await runImport(org, {csv: accountRows(3, 'Of-'), flow: {...accounts, tags: ['Fair']}, start: {dryRun: true}})
  t.deepEqual(bodies(here, tagCalls), [])
})

test('a refused tag is reported on its row, which stays written, and the retry adds it', async t => {
  const {here, org} = t.context
  here.crm.faults.add({match: tagCalls, times: 1, action: {type: 'refuse', code: 'RECORD_LOCKED', index: [1]}})
  const first = await runImport(org, {csv: accountRows(3, 'Og-'), flow: {...accounts, tags: ['Fair']}})
  t.like(first.run, {stop: null, counts: {Accounts: {created: 3, refused: 0}}})
  const refused = tagEntries(await logOf(org, first)).filter(({outcome}) => outcome === 'refused')
  t.deepEqual(
    refused.map(({rowNumber, code}) => [rowNumber, code]),
    [[2, 'RECORD_LOCKED']],
  )
  const results = await org.call('GET', `${first.path}/results.csv?run=${first.run.id}`)
  t.regex(results.text, /Og-2,.*Written,.*The tags were not added: .*RECORD_LOCKED/)
  t.deepEqual(tagsOf(here, 'Og-'), [['Fair'], [], ['Fair']])
  const again = await retry(org, first)
  t.deepEqual(tagsOf(here, 'Og-'), [['Fair'], ['Fair'], ['Fair']])
  t.deepEqual(
    tagEntries(await logOf(org, again)).map(({rowNumber}) => rowNumber),
    [2],
    'tagged records are not tagged again',
  )
})

test('an unanswered tag call is repeated until it is answered', async t => {
  const {here, org} = t.context
  here.crm.faults.add({match: tagCalls, times: 2, action: {type: 'dropAfter'}})
  const ended = await runImport(org, {csv: accountRows(2, 'Oh-'), flow: {...accounts, tags: ['Fair']}})
  t.deepEqual(tagsOf(here, 'Oh-'), [['Fair'], ['Fair']])
  const outcomes = tagEntries(await logOf(org, ended)).filter(({rowNumber}) => rowNumber === 1)
  t.deepEqual(
    outcomes.map(({outcome, attempt}) => [outcome, attempt]),
    [
      ['unanswered', 1],
      ['unanswered', 2],
      ['updated', 3],
    ],
  )
})

test('if the connection may not tag, the run stops with every row written, and the retry tags them', async t => {
  const {here, org} = t.context
  const body = {code: 'OAUTH_SCOPE_MISMATCH', details: {}, message: 'Unauthorized', status: 'error'}
  here.crm.faults.add({match: tagCalls, times: 1, action: {type: 'answer', status: 401, body}})
  const stopped = await runImport(org, {csv: accountRows(2, 'Oi-'), flow: {...accounts, tags: ['Fair']}})
  t.like(stopped.run, {stop: {stopped: 'CRM_REFUSED'}, counts: {Accounts: {created: 2}}})
  t.deepEqual(tagsOf(here, 'Oi-'), [[], []])
  await retry(org, stopped)
  t.deepEqual(tagsOf(here, 'Oi-'), [['Fair'], ['Fair']])
})
