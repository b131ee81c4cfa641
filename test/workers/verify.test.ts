import test from 'ava'
import {setWritesPaused} from '../../sql/connectors.ts'
import {isInSample} from '../../workers/engine/verify/written-rows.ts'
import {openEmbed} from '../support/embed.ts'
import {
  accountRows,
  ok,
  openOrg,
  prepareImport,
  readLog,
  runImport,
  untilEnded,
  untilRun,
  accounts as writing,
} from '../support/importing.ts'
import {makeTemplate, upload} from '../support/templates.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

let here: TestDeployment
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery', 'imports'], environment: {CRM_SLOTS: '4', LEASE_SECONDS: '2'}})
  org = await openOrg(here)
})
test.afterEach.always(() => {
  here.crm.faults.clear()
  here.crm.setSwitches({latencyMs: 0, rewrites: []})
})

const accounts = {
  ...writing,
  fields: [...writing.fields, {field: 'Phone', mode: 'column', source: 'phone'}, {field: 'Industry', mode: 'column', source: 'branch'}],
}
const rowsOf = (count: number, prefix: string) =>
  `name,number,city,phone,branch\n${Array.from({length: count}, (_, n) => `Company Number ${n + 1},${prefix}${n + 1},Town ${n % 7},+49 30 ${1000 + n},Banking`).join('\n')}\n`
const readVerify = (path: string, query = '') => ok(org.call('GET', `${path}/verify${query}`), 200)
const readsById = () => here.crm.journal({method: 'GET', path: '/crm/v8/Accounts'}).filter(({query}) => query.ids)
const where = (field: string, ...values: unknown[]) => ({where: {field, values}})

test.serial('verification finds each cut, converted, replaced, changed and missing value, and nothing else', async t => {
  const module = 'Accounts'
  here.crm.setSwitches({
    rewrites: [
      {module, ...where('Account_Number', 'V-3', 'V-250'), how: 'cut', field: 'Account_Name', length: 9},
      {module, ...where('Account_Number', 'V-5'), how: 'fold', field: 'Billing_City'},
      {module, ...where('Account_Number', 'V-7'), how: 'store', field: 'Industry', value: 'Other'},
      {module, ...where('Account_Number', 'V-11'), how: 'store', field: 'Phone', value: null},
      {module, ...where('Account_Number', 'V-13', 'V-3'), how: 'workflow', field: 'Industry', value: 'Insurance'},
      {module, ...where('Account_Number', 'V-17'), how: 'delete'},
    ],
  })
  const {path, run} = await runImport(org, {csv: rowsOf(300, 'V-'), flow: accounts, start: {verify: 'all'}})
  t.like(run, {stop: null, verify: {mode: 'all', rows: 300, coerced: 5, changed: 2, missing: 1, unread: 0, waiting: 0, unverified: 0}})
  const {verify, fields, differences, nextCursor} = await readVerify(`${path}/runs/${run.id}`)
  t.deepEqual(verify, run.verify)
  t.is(nextCursor, null)
  const found = differences.map(({rowNumber, field, result, sent, read}: any) => [rowNumber, field, result, sent, read])
  t.deepEqual(
    found.toSorted((a: any, b: any) => a[0] - b[0] || a[1].localeCompare(b[1])),
    [
      [3, 'Account_Name', 'truncated', 'Company Number 3', 'Company N'],
      [3, 'Industry', 'changed', 'Banking', 'Insurance'],
      [5, 'Billing_City', 'coerced', 'Town 4', 'town 4'],
      [7, 'Industry', 'coerced', 'Banking', 'Other'],
      [11, 'Phone', 'coerced', '+49 30 1010', null],
      [13, 'Industry', 'changed', 'Banking', 'Insurance'],
      [17, 'Account_Name', 'missing', 'Company Number 17', null],
      [17, 'Account_Number', 'missing', 'V-17', null],
      [17, 'Billing_City', 'missing', 'Town 2', null],
      [17, 'Industry', 'missing', 'Banking', null],
      [17, 'Phone', 'missing', '+49 30 1016', null],
      [250, 'Account_Name', 'truncated', 'Company Number 250', 'Company N'],
    ],
  )
  const nothing = {flowId: 'f', asSent: 299, truncated: 0, coerced: 0, changed: 0, missing: 1, uncompared: 0}
  t.deepEqual(fields, [
    {...nothing, field: 'Account_Name', asSent: 297, truncated: 2},
    {...nothing, field: 'Account_Number'},
    {...nothing, field: 'Billing_City', asSent: 298, coerced: 1},
    {...nothing, field: 'Industry', asSent: 296, coerced: 1, changed: 2},
    {...nothing, field: 'Phone', asSent: 298, coerced: 1},
  ])

  const pages = [await readVerify(`${path}/runs/${run.id}`, '?limit=7')]
  while (pages.at(-1).nextCursor) pages.push(await readVerify(`${path}/runs/${run.id}`, `?limit=7&cursor=${pages.at(-1).nextCursor}`))
  t.deepEqual(
    pages.flatMap(page => page.differences),
    differences,
  )
  t.is(pages.length, 2)
  const csv = await org.call('GET', `${path}/runs/${run.id}/verify.csv`)
  const lines = csv.text.trimEnd().split('\r\n')
  t.is(lines[0], 'Row,Flow,Module,Record,Field,Result,Sent,Read')
  t.is(lines.length, 13)
  t.true(lines.some(line => line.startsWith('3,f,Accounts,') && line.endsWith(',Account_Name,truncated,Company Number 3,Company N')))
})

test.serial('records are read back by id after five seconds, a hundred per call, with the sent fields only', async t => {
  here.crm.clearJournal()
  const {path, run} = await runImport(org, {csv: accountRows(250, 'T-'), flow: writing, start: {verify: 'all'}})
  t.is(run.verify.rows, 250)
  const reads = readsById()
  t.is(reads.length, 3)
  t.deepEqual(
    reads.map(({query}) => query.ids!.split(',').length).toSorted((a, b) => a - b),
    [50, 100, 100],
  )
  const fields = ['Account_Name', 'Account_Number', 'Billing_City', 'Modified_By', 'Modified_Time']
  for (const {query} of reads) t.deepEqual(query.fields!.split(',').toSorted(), fields)
  const wrote = here.crm.journal({method: 'POST', path: '/crm/v8/Accounts'}).map(({at}) => Date.parse(at))
  for (const {at} of reads) t.true(Date.parse(at) - Math.max(...wrote) >= 5_000, at)
  const written = (await readLog(org.call, `${path}/runs/${run.id}`)).map(({recordId}) => recordId)
  t.deepEqual(reads.flatMap(({query}) => query.ids!.split(',')).toSorted(), written.toSorted())
})

test.serial('a run that wrote all its rows verifies them while writes are paused', async t => {
  const pause = (paused: boolean) => here.db.transaction(tx => setWritesPaused(tx, {org: org.org, id: org.connector, paused}))
  t.teardown(() => pause(false))
  here.crm.clearJournal()
  const {path} = await prepareImport(org, {csv: accountRows(3, 'Wp-'), flow: writing})
  const {run} = await ok(org.call('POST', `${path}/runs`, {verify: 'all'}), 202)
  await untilRun(org.call, `${path}/runs/${run.id}`, ({counts}) => counts.Accounts?.created === 3)
  here.crm.faults.add({match: {method: 'GET', path: '/crm/v8/Accounts'}, times: 1, action: {type: 'rateLimit', retryAfter: 3}})
  await until(readsById, reads => reads.length === 1)
  await pause(true)
  const ended = await untilRun(org.call, `${path}/runs/${run.id}`, ({state}) => state === 'ended' || state === 'paused')
  t.like(ended, {state: 'ended', stop: null, verify: {rows: 3, waiting: 0, unverified: 0}})
  t.is(readsById().length, 2)
})

const patching = {...writing, fields: [...writing.fields.slice(0, 2), {...writing.fields[2], patch: {}}]}

test.serial('a row that is written and patched counts once', async t => {
  const csv = 'name,number,city\nOne,Pt-1,Bern\nTwo,Pt-2,Basel\n'
  const {path} = await prepareImport(org, {csv, flow: patching})
  const {run} = await ok(org.call('POST', `${path}/runs`, {verify: 'all'}), 202)
  const waiting: number[] = []
  const ended = await untilRun(
    org.call,
    `${path}/runs/${run.id}`,
    ({state, verify}) => waiting.push(verify.waiting) > 0 && state === 'ended',
  )
  t.is(Math.max(...waiting), 2)
  t.like(ended, {stop: null, verify: {rows: 2, missing: 0, waiting: 0, unverified: 0}})
})

test.serial('a row that a retry only patches counts', async t => {
  here.crm.faults.add({match: {method: 'PUT', path: '/crm/v8/Accounts'}, times: 1, action: {type: 'refuse', index: 0}})
  const {path, run} = await runImport(org, {csv: 'name,number,city\nOne,Pr-1,Bern\n', flow: patching})
  const {run: retry} = await ok(org.call('POST', `${path}/runs`, {retryOf: run.id, verify: 'all'}), 202)
  const ended = await untilEnded(org.call, `${path}/runs/${retry.id}`)
  t.like(ended, {counts: {Accounts: {inherited: 1}}, verify: {rows: 1, coerced: 0, changed: 0, missing: 0}})
})

test.serial('a value that the CRM stored in another form does not count as changed because the run added a tag later', async t => {
  // A second passes between the write and the tag, because the CRM's times have whole seconds.
  here.crm.setSwitches({
    latencyMs: 1_100,
    rewrites: [{module: 'Accounts', ...where('Account_Number', 'Tg-1'), how: 'store', field: 'Billing_City', value: 'Other'}],
  })
  const flow = {...writing, tags: ['Fair']}
  const {run} = await runImport(org, {csv: 'name,number,city\nOne,Tg-1,Bern\n', flow, start: {verify: 'all'}})
  t.like(run.verify, {rows: 1, coerced: 1, changed: 0})
})

test.serial('a sample has the first hundred rows and one in twenty of the others, the same in each run', async t => {
  const start = {verify: 'sample'}
  here.crm.clearJournal()
  const {run} = await runImport(org, {csv: accountRows(1_000, 'S-'), flow: writing, start})
  const chosen = Array.from({length: 1_000}, (_, n) => n + 1).filter(row => isInSample({row, key: `f.${row}`}))
  t.true(chosen.length > 130 && chosen.length < 160, `${chosen.length}`)
  t.is(run.verify.rows, chosen.length)
  const readIds = new Set(readsById().flatMap(({query}) => query.ids!.split(',')))
  const numbers = here.crm
    .records('example', 'Accounts')
    .filter(({id}) => readIds.has(String(id)))
    .map(({Account_Number: number}) => number)
  t.deepEqual(numbers.toSorted(), chosen.map(row => `S-${row}`).toSorted())
})

test.serial('what a later row of the run wrote to the same record is no difference', async t => {
  const csv = 'name,number,city\nFirst,D-1,Bern\nOther,D-2,Chur\nSecond,D-1,Basel\nThird,D-1,Genf\n'
  const {path, run} = await runImport(org, {csv, flow: writing, start: {verify: 'all'}})
  t.like(run.verify, {rows: 4, coerced: 0, changed: 0, missing: 0})
  const {fields, differences} = await readVerify(`${path}/runs/${run.id}`)
  t.deepEqual(differences, [])
  t.is(fields.find(({field}: any) => field === 'Account_Name').asSent, 2, 'each value is judged where it was written last')
})

test.serial('in a sample, what a row outside the sample wrote to the same record is no difference', async t => {
  const last = [200, 201, 202, 203].find(row => !isInSample({row, key: `f.${row}`}))!
  const others = Array.from({length: last - 2}, (_, n) => `Other ${n + 2},Ds-${n + 2},Chur`)
  const csv = `name,number,city\n${['First,Ds-1,Bern Mitte', ...others, 'Second,Ds-1,Bern'].join('\n')}\n`
  here.crm.setSwitches({
    rewrites: [{module: 'Accounts', ...where('Account_Number', 'Ds-3'), how: 'cut', field: 'Account_Name', length: 3}],
  })
  const {path, run} = await runImport(org, {csv, flow: writing, start: {verify: 'sample'}})
  t.like(run, {counts: {Accounts: {created: last - 1, updated: 1}}, verify: {coerced: 1, changed: 0, missing: 0, unverified: 0}})
  const {differences} = await readVerify(`${path}/runs/${run.id}`)
  t.deepEqual(
    differences.map(({rowNumber, field, result}: any) => [rowNumber, field, result]),
    [[3, 'Account_Name', 'truncated']],
  )
})

test.serial('a long text is read whole, so that its end is compared too', async t => {
  const flow = {...writing, fields: [...writing.fields, {field: 'Description', mode: 'column', source: 'text'}]}
  const text = (n: number) => `${'x'.repeat(700)} ${n}`
  const csv = `name,number,city,text\n${[1, 2, 3].map(n => `Company ${n},L-${n},Bern,${text(n)}`).join('\n')}\n`
  here.crm.setSwitches({rewrites: [{module: 'Accounts', ...where('Account_Number', 'L-2'), how: 'cut', field: 'Description', length: 650}]})
  const {path, run} = await runImport(org, {csv, flow, start: {verify: 'all'}})
  t.like(run.verify, {rows: 3, coerced: 1, changed: 0})
  const {differences} = await readVerify(`${path}/runs/${run.id}`)
  t.deepEqual(
    differences.map(({rowNumber, result, sent, read}: any) => [rowNumber, result, sent, read]),
    [[2, 'truncated', text(2), 'x'.repeat(650)]],
  )
})

const keeping = {...writing, match: {...writing.match, unchanged: 'skip', onEdited: 'keep'}}
const cities = (prefix: string, ...names: string[]) =>
  `name,number,city\n${names.map((city, n) => `Acme,${prefix}${n},${city}`).join('\n')}\n`

test.serial('a value that a workflow rewrote is no edit for the next run if the run was verified', async t => {
  for (const [verify, keptEdits] of [
    ['off', 2],
    ['all', 0],
  ] as const) {
    const prefix = `W-${verify}-`
    here.crm.setSwitches({
      rewrites: [
        {module: 'Accounts', ...where('Account_Number', `${prefix}0`), how: 'workflow', field: 'Billing_City', value: 'Unknown'},
        {module: 'Accounts', ...where('Account_Number', `${prefix}1`), how: 'cut', field: 'Billing_City', length: 4},
      ],
    })
    await runImport(org, {csv: cities(prefix, 'Bern', 'Winterthur', 'Chur'), flow: keeping, start: {verify}})
    here.crm.setSwitches({rewrites: []})
    const {run} = await runImport(org, {csv: cities(prefix, 'Basel', 'Basel', 'Basel'), flow: keeping})
    t.is(run.keptEdits, keptEdits, verify)
  }
})

test.serial('what a person changed before a record is read back stays an edit for the next run', async t => {
  const {path} = await prepareImport(org, {csv: cities('P-', 'Bern', 'Chur'), flow: keeping})
  const {run} = await ok(org.call('POST', `${path}/runs`, {verify: 'all'}), 202)
  await untilRun(org.call, `${path}/runs/${run.id}`, ({counts}) => counts.Accounts.created === 2)
  const {id} = here.crm.records('example', 'Accounts').find(({Account_Number: number}) => number === 'P-0')!
  here.crm.update('example', 'Accounts', [{id, Billing_City: 'Ber'}], {as: 'ben@example.org'})
  const ended = await untilEnded(org.call, `${path}/runs/${run.id}`)
  t.like(ended.verify, {rows: 2, coerced: 0, changed: 1})
  t.is((await runImport(org, {csv: cities('P-', 'Basel', 'Basel'), flow: keeping})).run.keptEdits, 1)
})

test.serial('a cancelled run verifies what it has written', async t => {
  here.crm.setSwitches({latencyMs: 300})
  const {path} = await prepareImport(org, {csv: accountRows(5_000, 'C-'), flow: writing})
  const {run} = await ok(org.call('POST', `${path}/runs`, {verify: 'all'}), 202)
  await untilRun(org.call, `${path}/runs/${run.id}`, ({counts}) => counts.Accounts.created >= 500)
  await ok(org.call('POST', `${path}/runs/${run.id}/cancel`), 200)
  const ended = await untilEnded(org.call, `${path}/runs/${run.id}`)
  t.like(ended, {
    stop: {stopped: 'CANCELLED'},
    verify: {rows: ended.counts.Accounts.created, unverified: 0, coerced: 0, changed: 0, missing: 0},
  })
})

test.serial('an embed token gets the verification of its run without the values read from the CRM', async t => {
  here.crm.setSwitches({rewrites: [{module: 'Accounts', how: 'workflow', field: 'Industry', value: 'Insurance'}]})
  const slot = {slot: 'rows', label: 'Rows', reader: {}, cleaning: [], choices: {}, columns: ['name', 'number', 'city', 'phone', 'branch']}
  const {id: template} = await makeTemplate(org.call, org.org, {sources: [slot], flows: [{id: 'f', sourceId: 'rows', ...accounts}]})
  const page = here.as((await openEmbed(here, {...org, template})).embed)
  const {import: made} = await ok(page('POST', `/orgs/${org.org}/imports`, {templateId: template}), 201)
  const path = `/orgs/${org.org}/imports/${made.id}`
  await ok(upload(page, path, rowsOf(1, 'E-')), 201)
  const {run} = await ok(page('POST', `${path}/runs`, {verify: 'all'}), 202)
  await untilEnded(org.call, `${path}/runs/${run.id}`)
  for (const [call, read] of [
    [org.call, 'Insurance'],
    [page, null],
  ] as const) {
    const {differences} = await ok(call('GET', `${path}/runs/${run.id}/verify`), 200)
    t.like(differences, [{field: 'Industry', result: 'changed', sent: 'Banking', read}])
    const {text} = await call('GET', `${path}/runs/${run.id}/verify.csv`)
    t.true(text.endsWith(`,Industry,changed,Banking,${read ?? ''}\r\n`), text)
  }
})

test.serial('a run without verification reads nothing back and stores no values', async t => {
  here.crm.clearJournal()
  const {path, run} = await runImport(org, {csv: accountRows(50, 'O-'), flow: writing})
  t.like(run.verify, {mode: 'off', rows: 0})
  t.deepEqual(readsById(), [])
  t.deepEqual(await readVerify(`${path}/runs/${run.id}`), {verify: run.verify, fields: [], differences: [], nextCursor: null})
  const {rows} = await here.hot.query('select count(*)::int as keys from verify_keys join runs using (run_no) where id = $1', [run.id])
  t.is(rows[0].keys, 0)
  t.like((await runImport(org, {csv: accountRows(5, 'O-'), flow: writing, start: {dryRun: true, verify: 'all'}})).run.verify, {mode: 'off'})
})
