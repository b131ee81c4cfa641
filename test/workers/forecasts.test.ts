import test, {type ExecutionContext} from 'ava'
import {sql} from '../../sql/database.ts'
import {accountRows, accounts, leads, type Org, ok, openOrg, untilEnded} from '../support/importing.ts'
import {column, companies, people, prepareFiles} from '../support/lookups.ts'
import {lineSheet, lines, orderSheet, orders} from '../support/subforms.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let here: TestDeployment
let org: Org

test.before(async t => {
  here = await startTestDeployment(t, {
    workers: ['discovery', 'imports', 'checks', 'credits'],
    environment: {CRM_TIMEOUT_SECONDS: '10', CRM_LAG_SECONDS: '1'},
  })
  org = await openOrg(here)
})

const skipping = {...accounts, match: {...accounts.match, unchanged: 'skip'}}
const keeping = {...accounts, match: {...skipping.match, onEdited: 'keep'}}
const file = {id: 'f', source: 'file'}
const used = () => here.crm.credits('example').used
const records = (prefix: string) =>
  here.crm.records('example', 'Accounts').filter(({Account_Number: number}) => String(number).startsWith(prefix))
const create = (count: number, prefix: string, city = (n: number) => `Town ${n % 7}`) => {
  const rows = Array.from({length: count}, (_, n) => ({
    Account_Name: `Company ${n + 1}`,
    Account_Number: `${prefix}${n + 1}`,
    Billing_City: city(n),
  }))
  for (let from = 0; from < count; from += 100) here.crm.create('example', 'Accounts', rows.slice(from, from + 100))
}

const forecastOf = async (path: string) => {
  const {job} = await ok(org.call('POST', `${path}/forecast`, undefined, {prefer: 'wait=60'}), 200)
  return job.result
}
const run = async (path: string, body: object = {}) => {
  const {run: begun} = await ok(org.call('POST', `${path}/runs`, body), 202)
  return untilEnded(org.call, `${path}/runs/${begun.id}`)
}

/** `isExact`: the file alone decides the cost. The forecast is then one number or, after a dry run, a narrow range. */
type ForecastCase = {
  name: string
  before?: () => void
  files: Record<string, string>
  flows: Parameters<typeof prepareFiles>[2]
  dryRun?: boolean
  isExact?: boolean
}

const twoFields = {...accounts, match: {...accounts.match, by: ['Account_Number', 'Account_Name']}}
const orderCodes = (prefix: string, count: number) => Array.from({length: count}, (_, n) => `${prefix}${n}`)

const cases: ForecastCase[] = [
  {
    name: 'creates',
    files: {file: `name,company,mail,staff\n${Array.from({length: 730}, (_, n) => `N${n},C${n},m${n}@f.example,${n}`).join('\n')}\n`},
    flows: [{...file, ...leads}],
    isExact: true,
  },
  {
    name: 'creates of which some rows fail before they are sent',
    files: {
      file: `name,company,mail,staff\n${Array.from({length: 250}, (_, n) => `N${n},C${n},g${n}@f.example,${n % 3 ? n : 'x'}`).join('\n')}\n`,
    },
    flows: [{...file, ...leads}],
    isExact: true,
  },
  {
    name: 'matched rows that are written',
    before: () => create(640, 'Fa-'),
    files: {file: accountRows(640, 'Fa-')},
    flows: [{...file, ...accounts}],
  },
  {name: 'new rows of a flow that matches', files: {file: accountRows(640, 'Fb-')}, flows: [{...file, ...accounts}]},
  {
    name: 'half new and half matched',
    before: () => create(300, 'Fc-'),
    files: {file: accountRows(600, 'Fc-')},
    flows: [{...file, ...accounts}],
  },
  {
    name: 'rows matched by two fields',
    before: () => create(450, 'Fd-'),
    files: {file: accountRows(450, 'Fd-')},
    flows: [{...file, ...twoFields}],
  },
  {name: 'unchanged rows', before: () => create(700, 'Fe-'), files: {file: accountRows(700, 'Fe-')}, flows: [{...file, ...skipping}]},
  {
    name: 'partly unchanged rows',
    before: () => create(700, 'Ff-', n => (n % 4 ? `Town ${n % 7}` : 'Old')),
    files: {file: accountRows(700, 'Ff-')},
    flows: [{...file, ...skipping}],
  },
  {
    name: 'partly unchanged rows after a dry run',
    before: () => create(700, 'Fg-', n => (n % 4 ? `Town ${n % 7}` : 'Old')),
    files: {file: accountRows(700, 'Fg-')},
    flows: [{...file, ...skipping}],
    dryRun: true,
    isExact: true,
  },
  {
    name: 'rows that keep edits of people',
    before: () => {
      create(500, 'Fh-', n => (n % 2 ? `Town ${n % 7}` : 'Old'))
      here.crm.update(
        'example',
        'Accounts',
        records('Fh-')
          .slice(0, 50)
          .map(({id}) => ({id, Billing_City: 'Mine'})),
        {as: 'ben@example.org'},
      )
    },
    files: {file: accountRows(500, 'Fh-')},
    flows: [{...file, ...keeping}],
  },
  {
    name: 'repeated match values',
    files: {file: `name,number,city\n${Array.from({length: 400}, (_, n) => `R${n},Fi-${n % 350},Town`).join('\n')}\n`},
    flows: [{...file, ...accounts}],
  },
  {name: 'tagged creates', files: {file: accountRows(320, 'Fj-')}, flows: [{...file, ...accounts, match: undefined, tags: ['Fair']}]},
  {
    name: 'matched rows that are left as they are',
    before: () => create(200, 'Fk-'),
    files: {file: accountRows(400, 'Fk-')},
    flows: [{...file, ...accounts, match: {...accounts.match, unchanged: undefined, onOne: 'skip'}}],
  },
  {
    name: 'rows linked to rows of another file',
    files: {
      companies: `name,number\n${Array.from({length: 120}, (_, n) => `C${n},Fl-${n}`).join('\n')}\n`,
      people: `last,mail,company\n${Array.from({length: 360}, (_, n) => `P${n},p${n}@fl.example,Fl-${n % 120}`).join('\n')}\n`,
    },
    flows: [companies(), people({key: {parentColumn: 'number', childColumn: 'company'}})],
  },
  {
    name: 'links that are searched for',
    before: () => create(60, 'Fm-'),
    files: {people: `last,mail,company\n${Array.from({length: 300}, (_, n) => `S${n},s${n}@fm.example,Fm-${(n % 60) + 1}`).join('\n')}\n`},
    flows: [
      {
        id: 'people',
        source: 'people',
        module: 'Contacts',
        fields: [
          column('Last_Name', 'last'),
          column('Email', 'mail'),
          {field: 'Account_Name', mode: 'search', source: 'company', searchField: 'Account_Number', onNone: 'leave', onMany: 'leave'},
        ],
      },
    ],
  },
  {
    name: 'fields that are written after all rows',
    files: {companies: `name,number,city\n${Array.from({length: 230}, (_, n) => `C${n},Fn-${n},Bern`).join('\n')}\n`},
    flows: [
      companies({
        match: undefined,
        fields: [column('Account_Name', 'name'), column('Account_Number', 'number'), column('Billing_City', 'city', {patch: {}})],
      }),
    ],
  },
  {
    name: 'subform rows of new records',
    files: {
      orders: orderSheet(orderCodes('Fo-', 110)),
      lines: lineSheet(orderCodes('Fo-', 110).flatMap(code => [[code, 'A'] as const, [code, 'B'] as const])),
    },
    flows: [orders({match: undefined}), lines()],
  },
  {
    name: 'subform rows of records that exist',
    before: () => {
      here.crm.create(
        'example',
        'Orders',
        orderCodes('Fp-', 90).map(code => ({Name: code, Code: code, Order_Lines: [{Product: 'Old'}]})),
      )
    },
    files: {orders: orderSheet(orderCodes('Fp-', 90)), lines: lineSheet(orderCodes('Fp-', 90).map(code => [code, 'A'] as const))},
    flows: [orders(), lines()],
  },
  {
    name: 'records that are deleted',
    before: () => create(260, 'Fq-'),
    files: {file: `number\n${Array.from({length: 260}, (_, n) => `Fq-${n + 1}`).join('\n')}\n`},
    flows: [{...file, module: 'Accounts', action: 'delete', match: {by: ['Account_Number']}, fields: [column('Account_Number', 'number')]}],
    dryRun: true,
  },
  {
    name: 'new and unchanged rows after a dry run',
    before: () => create(350, 'Fr-'),
    files: {file: accountRows(500, 'Fr-')},
    flows: [{...file, ...skipping}],
    dryRun: true,
    isExact: true,
  },
]

let minutes = 0
/** Largest share by which a forecast may differ from what the CRM charges. */
const margin = 0.03

const assertForecast = async (t: ExecutionContext, one: ForecastCase) => {
  // Advances the clock, so that earlier runs no longer count as recent writes.
  await here.ahead(`${++minutes} minutes`)
  one.before?.()
  const {path} = await prepareFiles(org, one.files, one.flows)
  const dry = one.dryRun ? await run(path, {dryRun: true}) : null
  const deletes = one.flows.some(({action}) => action === 'delete')
  const {credits, basis} = await forecastOf(path)
  t.is(basis, one.dryRun ? 'dry_run' : 'file', one.name)
  const before = used()
  const ended = await run(path, deletes ? {confirmDeletes: dry.counts.Accounts.planned} : {})
  const spent = used() - before
  const says = `${one.name}: forecast ${JSON.stringify(credits)}, spent ${spent}, cost ${JSON.stringify(ended.cost)}`
  t.is(ended.stop, null, says)
  t.is(ended.cost.credits, spent, says)
  t.deepEqual(ended.forecast.credits, {min: credits.min, max: credits.max}, says)
  // A dry run does not distinguish creates from updates. Its queries may also have needed a control value that those of the run do not need.
  if (one.isExact) t.true(credits.max - credits.min <= (one.dryRun ? 10 : 0), says)
  t.true(spent >= credits.min * (1 - margin) && spent <= credits.max * (1 + margin), says)
  t.log(`${one.name}: ${credits.min}..${credits.max}, spent ${spent}`)
}

for (const one of cases) test.serial(`the forecast agrees with the ledger of the CRM: ${one.name}`, t => assertForecast(t, one))

test.serial('a forecast makes no call, and is out of date once the import changes', async t => {
  const {path, ids} = await prepareFiles(org, {file: accountRows(500, 'Ga-')}, [{...file, ...accounts, match: undefined}])
  here.crm.clearJournal()
  const forecast = await forecastOf(path)
  t.deepEqual(here.crm.journal(), [])
  t.like(forecast, {credits: {min: 51, max: 51, byKind: {read: {min: 1, max: 1}, create: {min: 50, max: 50}}}, pausesAtRow: null})
  t.deepEqual(forecast.routes[0], {
    match: 'query',
    write: 'records',
    credits: {min: 51, max: 51},
    seconds: forecast.seconds,
    blockedBy: null,
  })
  const {forecast: stored, stale, due} = await ok(org.call('GET', `${path}/forecast`), 200)
  t.deepEqual([stored, stale, due], [forecast, false, false])
  await ok(org.call('PUT', `${path}/flows`, [{id: 'f', sourceId: ids.file, ...skipping}]), 200)
  t.like(await ok(org.call('GET', `${path}/forecast`), 200), {forecast, stale: true, due: true})
  const ended = await run(path)
  t.is(ended.forecast, null, 'the forecast no longer fits the import')
  // An earlier build stored row 0 for an import without rows to write.
  await here.db.query(sql.unsafe`
    update forecasts f set forecast = forecast || '{"pausesAtRow": 0}' from imports i where i.import_no = f.import_no and i.id = ${path.split('/').at(-1)!}`)
  const none = {forecast: null, madeAt: null, stale: null, due: true}
  t.deepEqual(await ok(org.call('GET', `${path}/forecast`), 200), none, 'a forecast that this build cannot read counts as none')
})

test.serial('a forecast says at which row the quota of the day is exhausted, and when the run ends after the wait for it', async t => {
  const {path} = await prepareFiles(org, {file: accountRows(500, 'Gb-')}, [{...file, ...accounts, match: undefined}])
  const {allowance} = here.crm.credits('example')
  here.crm.setCredits('example', {used: allowance - 22})
  t.teardown(() => here.crm.setCredits('example', {used: 0}))
  await ok(org.call('POST', `/orgs/${org.org}/connectors/${org.connector}/credits/check`, {}, {prefer: 'wait=30'}), 200)
  const forecast = await forecastOf(path)
  t.deepEqual(forecast.quota, {remaining: 21, allowance, isEnough: false})
  t.is(forecast.pausesAtRow, Math.floor((500 * 21) / 51))
  const hours = (Date.parse(forecast.finishesAt) - Date.now()) / 3_600_000
  t.true(hours > 23.9 && hours < 24.1, String(hours))
})

test.serial('the time of a forecast follows the pace of the calls that the workers measured', async t => {
  const {path} = await prepareFiles(org, {file: accountRows(5_000, 'Gc-')}, [{...file, ...accounts, match: undefined}])
  const {seconds: usual} = await forecastOf(path)
  await here.db.query(sql.unsafe`
    insert into crm_paces (connector_id, operation, p50_ms, p95_ms) values (${org.connector}, 'create', 4000, 8000)
    on conflict (connector_id, operation) do update set p50_ms = 4000, p95_ms = 8000`)
  const {seconds} = await forecastOf(path)
  t.true(seconds.p50 >= 20 && seconds.p50 > usual.p50 && seconds.p95 >= 2 * 20, JSON.stringify({usual, seconds}))
})

test.serial('the forecast of the route with an export agrees with the ledger, once a run has counted the module', async t => {
  here.crm.setSwitches({bulkSeconds: 0, bulkRowMs: 0})
  create(400, 'Gd-', n => (n % 4 ? `Town ${n % 7}` : 'Old'))
  await here.ahead(`${++minutes} minutes`)
  const prepare = async () => (await prepareFiles(org, {file: accountRows(400, 'Gd-')}, [{...file, ...skipping}])).path
  const first = await prepare()
  t.regex((await forecastOf(first)).routes[1].blockedBy, /The number of records of Accounts is not known yet/)
  await run(first, {match: 'snapshot'})
  await here.ahead(`${++minutes} minutes`)
  const path = await prepare()
  const [, route] = (await forecastOf(path)).routes
  t.like(route, {match: 'snapshot', write: 'records', blockedBy: null})
  t.true(route.seconds.p50 >= 60)
  const before = used()
  t.like(await run(path, {match: 'snapshot'}), {routes: [{match: 'snapshot'}], unchanged: 400})
  const spent = used() - before
  t.true(spent >= route.credits.min * (1 - margin) && spent <= route.credits.max * (1 + margin), JSON.stringify({spent, route}))
})
