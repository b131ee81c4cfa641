import test from 'ava'
import {routes} from '../../api/routes.ts'
import {mostEmbedImports} from '../../shared/embed/scope.ts'
import {sql} from '../../sql/database.ts'
import {openEmbed} from '../support/embed.ts'
import {ok} from '../support/importing.ts'
import {addConnector} from '../support/registry.ts'
import {leadsCsv, leadsTemplate, makeTemplate, openTemplates, outcome, upload} from '../support/templates.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let house: TestDeployment
test.before(async t => {
  house = await startTestDeployment(t)
})

const origin = 'https://app.example.com'

/** Creates an org with a template, and an embed token that an API token created. `page` sends requests with the embed token. */
const open = async ({rowsLimit = 100} = {}) => {
  const home = await openTemplates(house)
  const {id: template} = await makeTemplate(home.call, home.org)
  const {token: api, secret} = await ok(home.call('POST', `/orgs/${home.org}/tokens`, {name: 'host'}), 201)
  const server = house.as(secret)
  const {embed, token} = await openEmbed(house, {org: home.org, call: server, template, rowsLimit})
  const imports = `/orgs/${home.org}/imports`
  return {...home, template, api, server, embed, token, imports, page: house.as(embed)}
}

test('only listed origins get an embed token, and only https or the own machine can be listed', async t => {
  const {org, call, template, server} = await open()
  const ask = (more: object) => server('POST', `/orgs/${org}/embed-tokens`, {template, origin, rowsLimit: 5, ...more})
  t.deepEqual(outcome(await ask({origin: 'https://other.example.com'})), [403, 'ORIGIN_NOT_ALLOWED'])
  t.deepEqual(outcome(await ask({template: 'tpl_none'})), [404, 'NOT_FOUND'])
  t.deepEqual(outcome(await ask({minutes: 61})), [400, 'INVALID'])
  t.deepEqual(outcome(await ask({rowsLimit: 0})), [400, 'INVALID'])
  const list = (embedOrigins: unknown) => call('PATCH', `/orgs/${org}/config/settings`, {embedOrigins})
  for (const bad of [
    'http://app.example.com',
    'https://app.example.com/',
    'https://app.example.com/path',
    'https://*.example.com',
    '*',
    'null',
    "https://a.example; script-src 'unsafe-inline'",
    'https://user@app.example.com',
    'javascript:alert(1)',
    'https://App.example.com',
  ])
    t.deepEqual(outcome(await list([bad])), [400, 'INVALID'], bad)
  t.deepEqual(outcome(await list([origin, origin])), [400, 'INVALID'], 'twice')
  await ok(list(['http://localhost:3000', 'http://127.0.0.1:8080', 'https://app.example.com:8443', 'http://[::1]:3000']), 200)
})

test('the setting is in the history and in the registry of the org', async t => {
  const {org, call} = await open()
  const {changes} = await ok(call('GET', `/orgs/${org}/config/changes`), 200)
  const change = changes.find(({subject}: {subject: string}) => subject === 'settings.embedOrigins')
  t.like(change, {page: 'general', before: null, after: [origin], via: 'token'})
  const registry = await ok(call('GET', `/orgs/${org}/config/registry`), 200)
  t.deepEqual(registry.settings.embedOrigins, [origin])
  const other = {...registry, settings: {...registry.settings, embedOrigins: ['https://other.example.com']}}
  await ok(call('POST', `/orgs/${org}/config/bundle`, {registry: other}), 200)
  t.deepEqual((await ok(call('GET', `/orgs/${org}/config/settings`), 200)).settings.embedOrigins, ['https://other.example.com'])
  await ok(call('PATCH', `/orgs/${org}/config/settings`, {embedOrigins: null}), 200)
  t.false('embedOrigins' in (await ok(call('GET', `/orgs/${org}/config/settings`), 200)).settings)
})

test('an embed token describes itself, and only a hash of its secret is stored', async t => {
  const {page, template, org, embed, call} = await open()
  const described = await ok(page('GET', '/auth/embed'), 200)
  t.like(described, {
    org: {id: org},
    template: {id: template, name: 'Leads of the month'},
    origin,
    rowsLimit: 100,
    rowsLeft: 100,
    connection: {state: 'connected', isDiscovered: true},
  })
  t.deepEqual(described.modules, {Leads: {label: 'Leads', fields: {Last_Name: 'Last_Name', Email: 'Email', Company: 'Company'}}})
  t.deepEqual(outcome(await call('GET', '/auth/embed')), [404, 'NOT_FOUND'], 'any other bearer')
  const row = (await house.db.oneFirst(sql.unsafe`select row_to_json(e)::text from embed_tokens e where org_id = ${org}`)) as string
  t.false(row.includes(embed.slice(-20)))
})

test('in an org with several connections, a token needs a template with a connection', async t => {
  const {page, org, call, server, template, connector, path} = await open()
  const create = () => server('POST', `/orgs/${org}/embed-tokens`, {template, origin, rowsLimit: 5})
  await addConnector(house, org, 'Two')
  t.deepEqual(outcome(await create()), [400, 'CONNECTION_REQUIRED'])
  t.deepEqual(outcome(await page('GET', '/auth/embed')), [400, 'CONNECTION_REQUIRED'], 'a token from before the second connection')
  await ok(call('PUT', path(template), leadsTemplate({connectorId: connector})), 200)
  await ok(create(), 201)
  t.like(await ok(page('GET', '/auth/embed'), 200), {connection: {id: connector}})
})

test('an org without a connection gets a token, and the page learns that there is none', async t => {
  const {org, token} = await house.makeOrg({role: 'admin'})
  const {embed} = await openEmbed(house, {org, call: house.as(token)})
  t.is((await ok(house.as(embed)('GET', '/auth/embed'), 200)).connection, null)
})

test('a token creates imports of its template only, with the connection of the org', async t => {
  const {page, imports, template, connector, call, org} = await open()
  const {id: other} = await makeTemplate(call, org, {name: 'Other'})
  t.deepEqual(outcome(await page('POST', imports, {templateId: other})), [404, 'NOT_FOUND'])
  t.deepEqual(outcome(await page('POST', imports, {connectorId: 'con_other'})), [404, 'CONNECTION_NOT_FOUND'])
  t.deepEqual(outcome(await page('POST', imports, {})), [400, 'INVALID'])
  const {import: made} = await ok(page('POST', imports, {templateId: template, name: 'customers.csv'}), 201)
  t.like(made, {name: 'customers.csv', templateId: template, connectorId: connector})
  const {changes} = await ok(call('GET', `/orgs/${org}/config/changes`), 200)
  t.like(changes[0], {subject: 'import.created', via: 'token', tokenName: 'host', after: {embedOrigin: origin}})
})

test('changes of a token that a session created are recorded under its person', async t => {
  const {call, org, person, imports, template} = await open()
  const {embed} = await openEmbed(house, {org, call, template})
  await ok(house.as(embed)('POST', imports, {templateId: template}), 201)
  const {changes} = await ok(call('GET', `/orgs/${org}/config/changes`), 200)
  t.like(changes[0], {subject: 'import.created', via: 'token', tokenName: null, userId: person})
})

test('a token compares values with the fields that its import maps, and with no others', async t => {
  const {page, call, imports, template} = await open()
  const {import: made} = await ok(page('POST', imports, {templateId: template}), 201)
  const {source} = await ok(upload(page, `${imports}/${made.id}`, leadsCsv), 201)
  const path = `${imports}/${made.id}/sources/${source.id}/columns/firm/values`
  await ok(page('GET', path), 200)
  await ok(page('GET', `${path}?module=Leads&field=Company`), 200)
  for (const query of ['module=Accounts&field=Phone', 'module=Leads&field=None', 'module=None&field=Company'])
    t.deepEqual(outcome(await page('GET', `${path}?${query}`)), [404, 'FIELD_NOT_FOUND'], query)
  await ok(call('GET', `${path}?module=Accounts&field=Phone`), 200)
})

test('a token reads its own imports only, not those of its creator or of another token', async t => {
  const {page, imports, template, connector, server, org} = await open()
  const {import: foreign} = await ok(server('POST', imports, {templateId: template, connectorId: connector}), 201)
  const {embed} = await openEmbed(house, {org, call: server, template})
  const {import: sibling} = await ok(house.as(embed)('POST', imports, {templateId: template}), 201)
  for (const {id} of [foreign, sibling])
    for (const [method, path] of [
      ['GET', ''],
      ['PUT', '/columns'],
      ['GET', '/runs'],
      ['POST', '/runs'],
      ['GET', '/checks'],
    ] as const)
      t.deepEqual(outcome(await page(method, `${imports}/${id}${path}`, method === 'GET' ? undefined : {})), [404, 'IMPORT_NOT_FOUND'])
  await ok(house.as(embed)('GET', `${imports}/${sibling.id}`), 200)
  t.deepEqual((await ok(house.as(embed)('GET', `${imports}/${sibling.id}/runs?dryRun=false`), 200)).runs, [])
})

test('the path of every route that admits an embed token names the import that the gate checks', t => {
  const open = routes.filter(({access}) => 'role' in access && access.embed)
  const own = open.filter(({access}) => 'role' in access && access.embed === 'own')
  t.deepEqual(
    own.filter(({path}) => !path.startsWith('/orgs/:org/imports/:id')).map(({path}) => path),
    [],
  )
  t.deepEqual(
    open.filter(route => !own.includes(route)).map(({method, path}) => `${method} ${path}`),
    ['get /auth/embed', 'post /orgs/:org/imports'],
  )
  t.true(open.every(({access}) => 'role' in access && access.role === 'operator'))
})

test('columns can be chosen for the fields of the template, and nothing else of its flows', async t => {
  const {page, imports, template} = await open()
  const {import: made} = await ok(page('POST', imports, {templateId: template}), 201)
  const at = `${imports}/${made.id}`
  const {source, filled} = await ok(upload(page, at, leadsCsv.replace('surname,mail', 'Family name,E-mail')), 201)
  t.is(filled.state, 'draft')
  const choose = (columns: object) => page('PUT', `${at}/columns`, columns)
  t.deepEqual(outcome(await choose({f: {Last_Name: 'Family name'}})), [400, 'INVALID'], 'Email still has no column')
  t.deepEqual(outcome(await choose({f: {Phone: 'firm'}})), [400, 'INVALID'], 'a field that the template does not map')
  t.deepEqual(outcome(await choose({f: {Company: 'firm'}})), [400, 'INVALID'], 'a field with an expression')
  t.deepEqual(outcome(await choose({g: {Last_Name: 'firm'}})), [400, 'INVALID'], 'another flow')
  t.deepEqual(outcome(await choose({f: {Last_Name: 'none', Email: null}})), [400, 'INVALID'], 'a column that the file lacks')
  const {import: without} = await ok(choose({f: {Last_Name: 'Family name', Email: null}}), 200)
  t.like(without, {state: 'ready'})
  t.is(without.flows[0].fields[1].mode, 'skip')
  const {import: ready} = await ok(choose({f: {Last_Name: 'Family name', Email: 'E-mail'}}), 200)
  t.like(ready.flows[0], {sourceId: source.id, module: 'Leads'})
  t.deepEqual(
    ready.flows[0].fields.map(({field, mode, source}: Record<string, string>) => [field, mode, source]),
    [
      ['Last_Name', 'column', 'Family name'],
      ['Email', 'column', 'E-mail'],
      ['Company', 'expression', undefined],
    ],
  )
  t.deepEqual(outcome(await page('PUT', `${at}/flows`, ready.flows)), [403, 'SESSION_REQUIRED'])
})

test('a token starts runs within its rows only, and under the guard of the org', async t => {
  const {page, imports, template} = await open({rowsLimit: 3})
  const prepare = async () => {
    const {import: made} = await ok(page('POST', imports, {templateId: template}), 201)
    await ok(upload(page, `${imports}/${made.id}`, leadsCsv), 201)
    return `${imports}/${made.id}`
  }
  const [one, two, three] = [await prepare(), await prepare(), await prepare()]
  t.deepEqual(outcome(await page('POST', `${one}/runs`, {runId: 'run_other'})), [400, 'INVALID'])
  t.deepEqual(outcome(await page('POST', `${one}/runs`, {guard: {failed: 1}})), [400, 'INVALID'])
  const {run} = await ok(page('POST', `${one}/runs`, {}), 202)
  t.is(run.rowsPerRun, 2)
  t.is((await ok(page('GET', '/auth/embed'), 200)).rowsLeft, 1)
  const refused = await page('POST', `${two}/runs`, {})
  t.deepEqual(outcome(refused), [403, 'EMBED_LIMIT'])
  t.like(refused.body, {rows: 2, left: 1})
  await ok(page('POST', `${two}/runs`, {declaredRows: 1}), 202)
  t.deepEqual(outcome(await page('POST', `${three}/runs`, {declaredRows: 1})), [403, 'EMBED_LIMIT'])
  t.deepEqual(outcome(await page('POST', `${three}/runs`, {dryRun: true})), [403, 'EMBED_LIMIT'])
})

test('runs that start at the same time share the rows of their token', async t => {
  const {page, imports, template} = await open({rowsLimit: 5})
  const ready = await Promise.all(
    Array.from({length: 5}, async () => {
      const {import: made} = await ok(page('POST', imports, {templateId: template}), 201)
      await ok(upload(page, `${imports}/${made.id}`, leadsCsv), 201)
      return `${imports}/${made.id}`
    }),
  )
  const statuses = await Promise.all(ready.map(async at => (await page('POST', `${at}/runs`, {})).status))
  t.deepEqual(statuses.toSorted(), [202, 202, 403, 403, 403])
})

test('an undo of a run is an unknown run to the token, on every route', async t => {
  const {page, call, org, imports, template} = await open()
  const {import: made} = await ok(page('POST', imports, {templateId: template}), 201)
  const at = `${imports}/${made.id}`
  await ok(upload(page, at, leadsCsv), 201)
  const {run} = await ok(page('POST', `${at}/runs`, {}), 202)
  const {run: undo} = await ok(page('POST', `${at}/runs`, {dryRun: true}), 202)
  await house.db.query(sql.unsafe`update runs set undo_of = (select run_no from runs where id = ${run.id}) where id = ${undo.id}`)
  const ofRun = routes.filter(({path, access}) => 'role' in access && access.embed === 'own' && path.includes('/:run'))
  t.true(ofRun.length >= 9)
  for (const {method, path} of ofRun) {
    const asked = path.replace(':org', org).replace(':id', made.id).replace(':run', undo.id)
    t.deepEqual(outcome(await page(method.toUpperCase(), asked)), [404, 'RUN_NOT_FOUND'], `${method} ${path}`)
  }
  for (const file of ['results.csv', 'failed.csv'])
    t.deepEqual(outcome(await page('GET', `${at}/${file}?run=${undo.id}`)), [404, 'RUN_NOT_FOUND'], file)
  const idsOf = async (list: typeof page) => (await ok(list('GET', `${at}/runs`), 200)).runs.map(({id}: {id: string}) => id)
  t.deepEqual(await idsOf(page), [run.id])
  t.deepEqual(await idsOf(call), [undo.id, run.id])
  t.like(await ok(call('GET', `${at}/runs/${undo.id}`), 200), {run: {undoOf: run.id, stop: null}})
})

test('an undo in progress uses no rows of the token', async t => {
  const {page, imports, template} = await open()
  const {import: made} = await ok(page('POST', imports, {templateId: template}), 201)
  await ok(upload(page, `${imports}/${made.id}`, leadsCsv), 201)
  const {run} = await ok(page('POST', `${imports}/${made.id}/runs`, {}), 202)
  const readLeft = async () => (await ok(page('GET', '/auth/embed'), 200)).rowsLeft
  t.is(await readLeft(), 98)
  await house.db.query(sql.unsafe`update runs set undo_of = run_no where id = ${run.id}`)
  t.is(await readLeft(), 100)
})

test('a token creates a limited number of imports', async t => {
  const {page, imports, template} = await open()
  for (let made = 0; made < mostEmbedImports; made++) await ok(page('POST', imports, {templateId: template}), 201)
  t.deepEqual(outcome(await page('POST', imports, {templateId: template})), [403, 'EMBED_LIMIT'])
})

test('a token ends with its time, its API token and its origin', async t => {
  const {page, call, org, api, embed, server, template} = await open()
  await ok(page('GET', '/auth/embed'), 200)
  await ok(call('PATCH', `/orgs/${org}/config/settings`, {embedOrigins: ['https://other.example.com']}), 200)
  t.deepEqual(outcome(await page('GET', '/auth/embed')), [401, 'TOKEN_REVOKED'])
  await ok(call('PATCH', `/orgs/${org}/config/settings`, {embedOrigins: [origin]}), 200)
  await ok(page('GET', '/auth/embed'), 200)
  const {embed: short} = await openEmbed(house, {org, call: server, template, minutes: 1})
  await house.db.query(
    sql.unsafe`update embed_tokens set expires_at = lading_now() where org_id = ${org} and expires_at < lading_now() + interval '2 minutes'`,
  )
  t.deepEqual(outcome(await house.as(short)('GET', '/auth/embed')), [401, 'TOKEN_EXPIRED'])
  await ok(call('DELETE', `/orgs/${org}/tokens/${api.id}`), 200)
  t.deepEqual(outcome(await house.as(embed)('GET', '/auth/embed')), [401, 'TOKEN_REVOKED'])
})

test('creating a token deletes those of the org that expired a day ago', async t => {
  const {org, server, template} = await open()
  await house.db.query(sql.unsafe`update embed_tokens set expires_at = lading_now() - interval '25 hours' where org_id = ${org}`)
  await openEmbed(house, {org, call: server, template})
  t.is(await house.db.oneFirst(sql.unsafe`select count(*)::int from embed_tokens where org_id = ${org}`), 1)
})
