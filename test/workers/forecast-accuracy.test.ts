import test, {type ExecutionContext} from 'ava'
import {accountRows, accounts, leads, type Org, ok, openOrg, untilEnded} from '../support/importing.ts'
import {column, companies, people, prepareFiles} from '../support/lookups.ts'
import {lineSheet, lines, orderSheet, orders} from '../support/subforms.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let here: TestDeployment
let org: Org

test.before(async t => {
  here = await startTestDeployment(t, {
    workers: ['discovery', 'imports', 'checks'],
    environment: {CRM_TIMEOUT_SECONDS: '10', CRM_LAG_SECONDS: '1', VERIFY_AFTER_SECONDS: '1'},
  })
  here.crm.setSwitches({bulkSeconds: 0, bulkRowMs: 0})
  here.crm.setCredits('example', {allowance: 10_000_000})
  here.crm.addField('example', 'Leads', {name: 'Import_Key', type: 'text', length: 40, unique: true})
  org = await openOrg(here)
})

/** Largest share by which a forecast may differ from what the CRM charges. */
const margin = 0.03
const [most, many, rows] = [20_000, 9_000, 3_000]

type Span = {min: number; max: number}
type AccuracyCase = {
  name: string
  before?: () => unknown
  files: Record<string, string>
  flows: Parameters<typeof prepareFiles>[2]
  start?: object
  /** Returns the credits of a forecast that apply to this run. By default, those of the usual route. */
  creditsOf?: (forecast: any) => Span
}

const file = {id: 'f', source: 'file'}
const writing = {...file, ...accounts}
const skipping = {...file, ...accounts, match: {...accounts.match, unchanged: 'skip'}}
const creating = {...file, ...accounts, match: undefined}

const create = (count: number, prefix: string, city = (n: number) => `Town ${n % 7}`) =>
  createIn(
    'Accounts',
    Array.from({length: count}, (_, n) => ({Account_Name: `Company ${n + 1}`, Account_Number: `${prefix}${n + 1}`, Billing_City: city(n)})),
  )
/** Creates records an hour ago, so that they are no recent changes of their module. */
const createIn = (module: string, records: Record<string, string>[]) => {
  here.crm.clock.advance(-3_600_000)
  for (let from = 0; from < records.length; from += 100) here.crm.create('example', module, records.slice(from, from + 100))
  here.crm.clock.advance(3_600_000)
}
const third = (n: number) => (n % 3 ? `Town ${n % 7}` : 'Old')
const leadRows = (count: number, prefix: string) =>
  `name,company,mail,staff\n${Array.from({length: count}, (_, n) => `N${n},C${n},${prefix}${n}@x.example,${n}`).join('\n')}\n`
const codes = (prefix: string, count: number) => Array.from({length: count}, (_, n) => `${prefix}${n}`)
const setKey = (idempotencyField: string | null) => ok(org.call('PATCH', `/orgs/${org.org}/config/modules/Leads`, {idempotencyField}), 200)
const ofRoute = (match: string, write: string) => (forecast: any) =>
  forecast.routes.find((route: any) => route.match === match && route.write === write).credits

const contactNames = (count: number, prefix: string) => Array.from({length: count}, (_, n) => `${prefix}${n}`)

const cases: AccuracyCase[] = [
  {
    name: 'matched rows of which a third changes, against an export',
    before: () => create(many, 'Aj-', third),
    files: {file: accountRows(many, 'Aj-')},
    flows: [skipping],
    start: {match: 'snapshot'},
    creditsOf: ofRoute('snapshot', 'records'),
  },
  {
    name: 'new and matched rows, against an export',
    before: () =>
      createIn(
        'Contacts',
        contactNames(most / 2, 'ak').map(name => ({Last_Name: name, Email: `${name}@ak.example`})),
      ),
    files: {
      file: `last,mail\n${contactNames(most, 'ak')
        .map(name => `${name},${name}@ak.example`)
        .join('\n')}\n`,
    },
    flows: [
      {
        ...file,
        module: 'Contacts',
        match: {by: ['Email'], onOne: 'update', onMany: 'skip', unchanged: 'write'},
        fields: [column('Last_Name', 'last'), column('Email', 'mail')],
      },
    ],
    start: {match: 'snapshot'},
    creditsOf: ofRoute('snapshot', 'records'),
  },
  {name: 'creates', files: {file: leadRows(rows, 'aa')}, flows: [{...file, ...leads}]},
  {
    name: 'creates with an idempotency field',
    before: () => setKey('Import_Key'),
    files: {file: leadRows(rows, 'ab')},
    flows: [{...file, ...leads}],
  },
  {
    name: 'creates by bulk jobs',
    files: {file: leadRows(rows, 'ac')},
    flows: [{...file, ...leads, automations: true}],
    start: {write: 'bulk'},
    creditsOf: ofRoute('query', 'bulk'),
  },
  {name: 'tagged creates', before: () => setKey(null), files: {file: accountRows(rows, 'Ad-')}, flows: [{...creating, tags: ['Fair']}]},
  {
    name: 'creates of which some fail before they are sent',
    files: {file: leadRows(rows, 'ae').replaceAll(/,(\d*7)\n/g, ',x\n')},
    flows: [{...file, ...leads}],
  },
  {name: 'new rows of a flow that matches', files: {file: accountRows(many, 'Af-')}, flows: [writing]},
  {name: 'matched rows that are written', before: () => create(rows, 'Ag-'), files: {file: accountRows(rows, 'Ag-')}, flows: [writing]},
  {name: 'half new and half matched', before: () => create(many / 2, 'Ah-'), files: {file: accountRows(many, 'Ah-')}, flows: [writing]},
  {
    name: 'matched rows of which a third changes',
    before: () => create(rows, 'Ai-', third),
    files: {file: accountRows(rows, 'Ai-')},
    flows: [skipping],
  },
  {
    name: 'matched rows that are updated by bulk jobs',
    before: () => create(rows, 'Al-'),
    files: {file: accountRows(rows, 'Al-')},
    flows: [{...writing, automations: true}],
    start: {write: 'bulk'},
    creditsOf: ofRoute('query', 'bulk'),
  },
  {name: 'unchanged rows', before: () => create(6_000, 'Am-'), files: {file: accountRows(6_000, 'Am-')}, flows: [skipping]},
  {
    name: 'rows matched by two fields',
    before: () => create(rows, 'An-'),
    files: {file: accountRows(rows, 'An-')},
    flows: [{...writing, match: {...accounts.match, by: ['Account_Number', 'Account_Name']}}],
  },
  {
    name: 'repeated match values',
    files: {file: `name,number,city\n${Array.from({length: many}, (_, n) => `R${n},Ao-${n % 8_995},Town`).join('\n')}\n`},
    flows: [writing],
  },
  {
    name: 'rows linked to rows of another file',
    files: {
      companies: `name,number\n${codes('Ap-', rows)
        .map(code => `C,${code}`)
        .join('\n')}\n`,
      people: `last,mail,company\n${Array.from({length: many}, (_, n) => `P${n},p${n}@ap.example,Ap-${n % rows}`).join('\n')}\n`,
    },
    flows: [companies(), people({key: {parentColumn: 'number', childColumn: 'company'}})],
  },
  {
    name: 'links that are searched for',
    before: () => create(600, 'Aq-'),
    files: {
      people: `last,mail,company\n${Array.from({length: rows}, (_, n) => `S${n},s${n}@aq.example,Aq-${(n % 600) + 1}`).join('\n')}\n`,
    },
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
    name: 'subform rows of new records',
    files: {
      orders: orderSheet(codes('Ar-', 600)),
      lines: lineSheet(codes('Ar-', 600).flatMap(code => [[code, 'A'] as const, [code, 'B'] as const])),
    },
    flows: [orders({match: undefined}), lines()],
  },
  {
    name: 'fields that are written after all rows',
    files: {
      companies: `name,number,city\n${codes('As-', rows)
        .map(code => `C,${code},Bern`)
        .join('\n')}\n`,
    },
    flows: [
      companies({
        match: undefined,
        fields: [column('Account_Name', 'name'), column('Account_Number', 'number'), column('Billing_City', 'city', {patch: {}})],
      }),
    ],
  },
  {
    name: 'matched rows that are written and read back',
    before: () => create(rows, 'At-'),
    files: {file: accountRows(rows, 'At-')},
    flows: [writing],
    start: {verify: 'all'},
    creditsOf: ({credits, verifyAll}) => ({min: credits.min + verifyAll.min, max: credits.max + verifyAll.max}),
  },
]

let minutes = 0

const runIt = async (path: string, body: object) => {
  const {run} = await ok(org.call('POST', `${path}/runs`, body), 202)
  return untilEnded(org.call, `${path}/runs/${run.id}`)
}

/** Executes a dry run, forecasts the import and runs it. Asserts that the forecast is within the margin of the credits spent. */
const assertAccurate = async (t: ExecutionContext, {name, before, files, flows, start = {}, creditsOf}: AccuracyCase) => {
  // Advances the clock, so that earlier runs no longer count as recent writes.
  await here.ahead(`${++minutes} minutes`)
  await before?.()
  const {path} = await prepareFiles(org, files, flows)
  await runIt(path, {dryRun: true, ...('match' in start && {match: start.match})})
  const {job} = await ok(org.call('POST', `${path}/forecast`, undefined, {prefer: 'wait=60'}), 200)
  const credits = creditsOf ? creditsOf(job.result) : job.result.credits
  const before_ = here.crm.credits('example').used
  const ended = await runIt(path, start)
  const spent = here.crm.credits('example').used - before_
  const says = `${name}: forecast ${credits.min} to ${credits.max}, spent ${spent} ${JSON.stringify({...ended.cost.byKind, routes: ended.routes, byKind: job.result.credits.byKind})}`
  t.log(says)
  t.is(ended.stop, null, says)
  t.true(credits.min >= spent * (1 - margin) && credits.max <= spent * (1 + margin), says)
}

for (const one of cases)
  test.serial(`the forecast differs by at most 3 % from the ledger of the CRM: ${one.name}`, t => assertAccurate(t, one))
