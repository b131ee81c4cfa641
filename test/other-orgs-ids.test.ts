import test from 'ava'
import type {Route} from '../api/route.ts'
import {routes} from '../api/routes.ts'
import {newId} from '../shared/ids.ts'
import type {HttpAnswer} from './support/client.ts'
import {fillOrg, type Ids, nightly, parametersOf} from './support/filled-org.ts'
import {openOrg} from './support/importing.ts'
import {leadsTemplate} from './support/templates.ts'
import {startTestDeployment, type TestDeployment} from './support/test-deployment.ts'

let house: TestDeployment
let mine: Ids
let theirs: Ids
let call: Awaited<ReturnType<typeof openOrg>>['call']

test.before(async t => {
  house = await startTestDeployment(t, {workers: ['imports', 'discovery', 'writes']})
  const [one, other] = [await openOrg(house, 'ana@example.org'), await openOrg(house, 'zoe@other.example')]
  mine = await fillOrg(house, one, 'ana@example.org')
  theirs = await fillOrg(house, other, 'zoe@other.example')
  call = one.call
})

const nobodys = (collection: string) => {
  if (collection === 'jobs') return crypto.randomUUID()
  if (collection === 'records') return '4400001999999999999'
  return newId(({imports: 'imp', templates: 'tpl', sources: 'src', runs: 'run', connectors: 'con'}[collection] ?? 'tok') as 'tok')
}

const pathWith = (route: Route, strange: string, id: string) =>
  parametersOf(route)
    .reduce<string>((path, {collection, name}) => path.replace(`:${name}`, name === strange ? id : mine[collection]!), route.path)
    .replace(':org', mine.org!)
    .replace(':module', 'Accounts')
    .replace(':column', 'name')
    .replace(':offset', '0') + (QUERIES[route.path.split('/').at(-1)!] ?? '')

/**
 * Returns the parts of a response that could reveal something: the status, the headers except those that vary by request, and the body without
 * the id.
 */
const seen = ({status, headers, text}: HttpAnswer, id: string) => {
  const own = ['date', 'x-request-id', 'connection', 'keep-alive']
  return {status, headers: [...headers].filter(([name]) => !own.includes(name)), text: text.replaceAll(id, 'THE ID')}
}

const knock = async (route: Route, path: string, id: string, body: unknown = BODIES[`${route.method} ${route.path}`] ?? {}) =>
  seen(await call(route.method.toUpperCase(), path, route.method === 'get' ? undefined : body), id)

const linesUnder = (runId: string) => ({
  runId,
  field: 'Order_Lines',
  child: 'Order_Lines',
  items: [{parentId: '1', writeId: 'w', rows: [{rowKey: 'k', payload: {}}]}],
})

/** Request bodies that satisfy the schemas, so that only the id can be refused. */
const BODIES: Record<string, unknown> = {
  'post /orgs/:org/connectors/:id/records/:module': {runId: 'none', items: [{rowKey: 'r1', payload: {}}]},
  'put /orgs/:org/connectors/:id/records/:module': {runId: 'none', items: [{rowKey: 'r1', recordId: '1', payload: {}}]},
  'post /entitlements/runs/:runId/entries': {entries: [{rowKey: 'r1', module: 'Accounts', outcome: 'failed'}]},
  'put /orgs/:org/connectors/:id/records/:module/rows': linesUnder('none'),
  'patch /orgs/:org/members/:id': {role: 'operator'},
  'patch /orgs/:org/connectors/:id': {name: 'Mine now'},
  'put /orgs/:org/imports/:id/flows': [{id: 'f', sourceId: 's', module: 'Accounts', fields: [{field: 'Account_Name', mode: 'skip'}]}],
  'put /orgs/:org/imports/:id/slots': {file: 'none'},
  'put /orgs/:org/templates/:id': leadsTemplate(),
  'post /orgs/:org/templates/:id/schedules': nightly(),
  'put /orgs/:org/templates/:id/schedules/:schedule': nightly(),
  'patch /orgs/:org/templates/:id/schedules/:schedule': {enabled: false},
  'post /orgs/:org/imports/:id/sources': 'name\nx\n',
  'post /orgs/:org/imports/:id/uploads': {name: 'x', size: 1},
  'patch /orgs/:org/imports/:id/sources/:source': {label: 'Mine now'},
  'put /orgs/:org/libraries/:namespace/management': {managedBy: null},
  'post /orgs/:org/imports/:id/runs/:run/questions': {rules: [{flowId: 'f', choice: 'skip'}]},
  'post /orgs/:org/connectors/:id/records/:module/:recordId/made': {runId: 'none', rowKey: 'r1'},
}

const QUERIES: Record<string, string> = {
  'by-ids': '?ids=1',
  'word-search': '?word=town',
  search: '?field=Account_Name&value=x',
  log: '?row=1',
}

const guarded = routes.filter(route => 'role' in route.access && parametersOf(route).length > 0)

for (const route of guarded) {
  for (const {collection, name} of parametersOf(route)) {
    test(`an id of another org looks unknown: ${route.method} ${route.path} :${name}`, async t => {
      const foreign = theirs[collection]
      t.truthy(foreign, `a test has one of ${collection}`)
      const random = nobodys(collection)
      const answers = [
        await knock(route, pathWith(route, name, foreign!), foreign!),
        await knock(route, pathWith(route, name, random), random),
      ]
      t.deepEqual(answers[0], answers[1])
      t.true([400, 404].includes(answers[0]!.status), answers[0]!.text)
    })
  }
}

/** Other kinds of callers. Each must get the same refusal for both ids. */
const others: Record<string, () => Promise<string | null>> = {
  'an operator': async () => (await house.makeOrg({role: 'operator', org: mine.org!})).token,
  'a builder': async () => (await house.makeOrg({role: 'builder', org: mine.org!})).token,
  'an admin': async () => (await house.makeOrg({role: 'admin', org: mine.org!})).token,
  'an API token': async () => (await call('POST', `/orgs/${mine.org}/tokens`, {name: 'others'})).body.secret,
  'a staff view': async () => house.openView({org: mine.org!, write: true}),
  nobody: async () => null,
}

for (const [who, make] of Object.entries(others))
  test(`${who} cannot distinguish an id of another org at any route`, async t => {
    const as = house.as(await make())
    for (const route of guarded)
      for (const {collection, name} of parametersOf(route)) {
        const ask = async (id: string) => {
          const body = route.method === 'get' ? undefined : (BODIES[`${route.method} ${route.path}`] ?? {})
          return seen(await as(route.method.toUpperCase(), pathWith(route, name, id), body), id)
        }
        const [foreign, unknown] = [await ask(theirs[collection]!), await ask(nobodys(collection))]
        t.deepEqual(foreign, unknown, `${route.method} ${route.path}: :${name}`)
        t.true(foreign.status >= 400 && foreign.status < 500)
      }
  })

/** Ids in bodies and queries, which do not occur in the paths. */
const elsewhere: [string, (id: string) => [string, string, unknown?], string][] = [
  ['connectorId of a new import', id => ['POST', `/orgs/${mine.org}/imports`, {connectorId: id}], 'connector'],
  ['connectorId of a discovery', id => ['POST', `/orgs/${mine.org}/discovery/run`, {connectorId: id}], 'connector'],
  ['connector of the latest discovery', id => ['GET', `/orgs/${mine.org}/discovery/latest?connector=${id}`], 'connector'],
  ['templateId of a new import', id => ['POST', `/orgs/${mine.org}/imports`, {connectorId: mine.connector, templateId: id}], 'templates'],
  ['templateId of an authorisation', id => ['POST', '/entitlements/runs/authorise', {declaredRows: 1, templateId: id}], 'templates'],
  ['connectorId of a template', id => ['POST', `/orgs/${mine.org}/templates`, leadsTemplate({connectorId: id})], 'connector'],
  ['connector of a check', id => ['GET', `/orgs/${mine.org}/templates/${mine.templates}/check?connector=${id}`], 'connector'],
  ['import a template is saved from', id => ['POST', `/orgs/${mine.org}/templates`, {fromImport: id, name: 'Theirs'}], 'imports'],
  [
    'connectorId of a schedule',
    id => ['POST', `/orgs/${mine.org}/templates/${mine.templates}/schedules`, nightly({connectorId: id})],
    'connector',
  ],
  [
    'endpoint of a schedule',
    id => ['POST', `/orgs/${mine.org}/templates/${mine.templates}/schedules`, nightly({notify: {endpoints: [id]}})],
    'webhooks',
  ],
  [
    'schedule of a webhook',
    id => ['POST', `/orgs/${mine.org}/webhooks`, {url: 'https://receiver.example/hook', schedule: id}],
    'schedules',
  ],
  ['schedule of a webhook that is changed', id => ['PATCH', `/orgs/${mine.org}/webhooks/${mine.webhooks}`, {schedule: id}], 'schedules'],
  ['endpoint of the org’s notices', id => ['PUT', `/orgs/${mine.org}/notices`, {endpoints: [id]}], 'webhooks'],
  ['source of a slot', id => ['PUT', `/orgs/${mine.org}/imports/${mine.filling}/slots`, {leads: id}], 'sources'],
  [
    'connections in templates of a bundle',
    id => ['POST', `/orgs/${mine.org}/config/bundle`, {templates: [leadsTemplate({connectorId: id})]}],
    'connector',
  ],
  ['importId of an authorisation', id => ['POST', '/entitlements/runs/authorise', {declaredRows: 1, importId: id}], 'imports'],
  ['connectorId of an authorisation', id => ['POST', '/entitlements/runs/authorise', {declaredRows: 1, connectorId: id}], 'connector'],
  ['retryOf of a run', id => ['POST', `/orgs/${mine.org}/imports/${mine.imports}/runs`, {retryOf: id}], 'runs'],
  ['runId of a run', id => ['POST', `/orgs/${mine.org}/imports/${mine.imports}/runs`, {runId: id}], 'runs'],
  [
    'runId of a take',
    id => ['POST', `/orgs/${mine.org}/connectors/${mine.connector}/records/Accounts/${mine.records}/made`, {runId: id, rowKey: 'r1'}],
    'runs',
  ],
  ['import of the runs that are listed', id => ['GET', `/orgs/${mine.org}/runs?import=${id}`], 'imports'],
  ['run of a results file', id => ['GET', `/orgs/${mine.org}/imports/${mine.imports}/results.csv?run=${id}`], 'runs'],
  [
    'source of a results file',
    id => ['GET', `/orgs/${mine.org}/imports/${mine.imports}/results.csv?run=${mine.runs}&source=${id}`],
    'sources',
  ],
  ['run of a file of failed rows', id => ['GET', `/orgs/${mine.org}/imports/${mine.imports}/failed.csv?run=${id}`], 'runs'],
  ['run of a plan', id => ['GET', `/orgs/${mine.org}/imports/${mine.imports}/plan.csv?run=${id}`], 'runs'],
  [
    'runId of a record write',
    id => ['POST', `/orgs/${mine.org}/connectors/${mine.connector}/records/Accounts`, {runId: id, items: [{rowKey: 'r1', payload: {}}]}],
    'runs',
  ],
  ['runId of rows', id => ['PUT', `/orgs/${mine.org}/connectors/${mine.connector}/records/Orders/rows`, linesUnder(id)], 'runs'],
  [
    'fromSource of another sheet',
    id => ['POST', `/orgs/${mine.org}/imports/${mine.imports}/sources`, {fromSource: id, sheet: 'Sheet1'}],
    'sources',
  ],
  ['sourceId of a flow', id => ['PUT', `/orgs/${mine.org}/imports/${mine.imports}/flows`, flowOver(id)], 'sources'],
  ['connector of the modules', id => ['GET', `/orgs/${mine.org}/config/modules?connector=${id}`], 'connector'],
  ['connector of a module', id => ['PATCH', `/orgs/${mine.org}/config/modules/Leads?connector=${id}`, {enabled: true}], 'connector'],
  ['connector of an order', id => ['PUT', `/orgs/${mine.org}/config/modules/order?connector=${id}`, {modules: ['Leads']}], 'connector'],
  ['connector of fields', id => ['GET', `/orgs/${mine.org}/config/fields/Leads?connector=${id}`], 'connector'],
  ['connector of an annotation', id => ['PATCH', `/orgs/${mine.org}/config/fields/Leads/Email?connector=${id}`, {pii: true}], 'connector'],
  ['connector of annotations', id => ['PUT', `/orgs/${mine.org}/config/fields/Leads/annotations?connector=${id}`, []], 'connector'],
  ['connector of a write pause', id => ['PATCH', `/orgs/${mine.org}/config/writing?connector=${id}`, {paused: true}], 'connector'],
  ['connector of the changes', id => ['GET', `/orgs/${mine.org}/config/changes?connector=${id}`], 'connector'],
  ['connections in a registry', id => ['PUT', `/orgs/${mine.org}/config/registry`, registryOver(id)], 'connector'],
  ['connections in a bundle', id => ['POST', `/orgs/${mine.org}/config/bundle`, {registry: registryOver(id)}], 'connector'],
  ['endpoint of the notices', id => ['PUT', `/orgs/${mine.org}/notices`, {endpoints: [id]}], 'webhooks'],
  ['connectorId of a mapping', id => ['POST', '/ai/auto-map', {connectorId: id, modules: ['Leads'], columns: ['Name']}], 'connector'],
  ['connectorId of a formula', id => ['POST', '/ai/formula', {...formula, connectorId: id}], 'connector'],
  [
    'connectorId of an expression that is tried',
    id => [
      'POST',
      `/orgs/${mine.org}/expressions/test`,
      {expression: '1', columns: ['Name'], connectorId: id, module: 'Leads', field: 'Email'},
    ],
    'connector',
  ],
  ['import of a mapping', id => ['POST', '/ai/auto-map', {import: id, modules: ['Leads'], columns: ['Name']}], 'imports'],
  ['place of a mapping', id => ['POST', '/ai/auto-map', placedIn(id, {modules: ['Leads'], columns: ['Name']})], 'sources'],
  ['import of a formula', id => ['POST', '/ai/formula', {...formula, import: id}], 'imports'],
  ['place of a formula', id => ['POST', '/ai/formula', placedIn(id, formula)], 'sources'],
  ['import of a question', id => ['POST', '/ai/chat', {message: 'Why?', import: id}], 'imports'],
  ['file of a question', id => ['POST', '/ai/chat', {message: 'Why?', import: mine.imports, source: id}], 'sources'],
  ['place of a question', id => ['POST', '/ai/chat', {message: 'Why?', import: mine.imports, place: ['source', id]}], 'sources'],
  ['connectorId of a question', id => ['POST', '/ai/chat', {message: 'Why?', connectorId: id}], 'connector'],
  ['source of conversations', id => ['GET', `/orgs/${mine.org}/imports/${mine.imports}/conversations?source=${id}`], 'sources'],
  [
    'place of conversations',
    id => ['GET', `/orgs/${mine.org}/imports/${mine.imports}/conversations?place=${encodeURIComponent(JSON.stringify(['source', id]))}`],
    'sources',
  ],
  ['orgId of a tie to production', id => ['PUT', `/orgs/${mine.org}/production`, {orgId: id}], 'org'],
]
const formula = {module: 'Leads', field: 'Email', question: 'How?', columns: ['Name']}
const placedIn = (source: string, body: object) => ({...body, import: mine.imports, place: ['source', source]})
const registryOver = (connectorId: string) => ({
  settings: {dateFormat: 'yyyy-MM-dd', timezone: 'UTC', expressionContext: {}, aiSamplePolicy: 'masked'},
  writing: {[connectorId]: {paused: true}},
  modules: [{key: 'leads', apiName: 'Leads', connectorId, enabled: true, singular: null, order: 1, ...unsaid}],
  fields: {},
})
const unsaid = {uniqueFields: [], match: null, exclusions: [], seedMappings: []}
const flowOver = (sourceId: string) => [{id: 'f', sourceId, module: 'Accounts', fields: [{field: 'Account_Name', mode: 'skip'}]}]

for (const [what, ask, collection] of elsewhere) {
  test(`an id of another org looks unknown as ${what}`, async t => {
    const random = nobodys(collection)
    const [foreign, unknown] = [
      seen(await call(...ask(theirs[collection]!)), theirs[collection]!),
      seen(await call(...ask(random)), random),
    ]
    t.deepEqual(foreign, unknown)
    t.true(foreign.status >= 400 && foreign.status < 500, foreign.text)
  })
}
