import {existsSync, mkdirSync, readFileSync, writeFileSync} from 'node:fs'
import {dirname, join} from 'node:path'
import test from 'ava'
import {hashOf} from '../../api/clients/cli/config-files.ts'
import {openHome} from '../support/cli-process.ts'
import {ok, openOrg} from '../support/importing.ts'
import {leadsTemplate, makeTemplate, openTemplates} from '../support/templates.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let house: TestDeployment
let org: Awaited<ReturnType<typeof openOrg>>
let home: ReturnType<typeof openHome>

test.before(async t => {
  house = await startTestDeployment(t, {workers: ['discovery']})
  org = await openOrg(house)
  home = openHome({LADING_URL: house.url, LADING_TOKEN: org.session})
})

/** Creates an org with a template and a module, and an administrator's command line. */
const open = async () => {
  const org = await openTemplates(house)
  const template = await makeTemplate(org.call, org.org, {name: 'Leads: März'})
  await ok(org.call('POST', org.path(template.id, '/share'), {}), 200)
  await ok(org.call('PATCH', org.at('modules/Leads'), {enabled: true, uniqueFields: ['Email']}), 200)
  await ok(org.call('PUT', org.at('fields/Leads/annotations'), [{apiName: 'Email', pii: true}, {apiName: 'Company'}]), 200)
  const home = openHome({LADING_URL: house.url, LADING_TOKEN: org.token})
  const at = (path: string) => join(home.here, path)
  const read = (path: string) => readFileSync(at(path), 'utf8')
  const edit = (path: string, change: (text: string) => string) => {
    mkdirSync(dirname(at(path)), {recursive: true})
    writeFileSync(at(path), change(existsSync(at(path)) ? read(path) : ''))
  }
  return {...org, home, run: home.run, read, edit}
}

const manifest = {namespace: 'names', version: '1.0.0', scope: 'org', functions: [{name: 'shout', parameters: [{name: 'text'}]}]}

test('the configuration is pulled, edited, compared and pushed, and a stale push is refused until the next pull', async t => {
  const {run, read, edit, call, org, at, version} = await open()
  const pulled = await run(['config', 'pull', 'crm', '--json'])
  t.is(pulled.code, 0, pulled.err)
  const files = ['fields/Leads.json', 'modules/Leads.json', 'settings.json', 'templates/leads-marz.json', 'writing.json']
  const key = JSON.parse(pulled.out).taken.find((path: string) => path.startsWith('modules/'))
  t.deepEqual(
    JSON.parse(pulled.out).taken.map((path: string) => path.replace(/(modules|fields)\/.*/, '$1/Leads.json')),
    files,
  )
  t.deepEqual(JSON.parse(read(`crm/${key}`)).uniqueFields, ['Email'])
  const {modules} = (await ok(call('GET', `/orgs/${org}/discovery/latest`), 200)).discovery
  t.deepEqual(JSON.parse(read('crm/discovery.json')).connections[0].modules, modules, 'the discovery is beside the configuration')
  const again = await run(['config', 'pull', 'crm', '--json'])
  t.like(JSON.parse(again.out), {taken: [], discovered: false}, 'the same again is the same text')
  t.is((await run(['config', 'diff', 'crm'])).code, 0)
  await run(['config', 'pull', 'other'])

  edit('crm/settings.json', text => text.replace('UTC', 'Europe/Berlin'))
  edit('crm/libraries/names/manifest.json', () => JSON.stringify(manifest))
  edit('crm/libraries/names/source.js', () => 'export const shout = text => text.toUpperCase()\n')
  edit('crm/templates/leads-marz.json', text => text.replace('row.firm.trim()', 'names.shout(row.firm)'))
  const diff = await run(['config', 'diff', 'crm'])
  t.is(diff.code, 8)
  t.regex(
    diff.out,
    /--- server\/settings\.json\n\+\+\+ local\/settings\.json\n@@ [^\n]+ @@\n(.*\n)*- {2}"timezone": "UTC"\n\+ {2}"timezone": "Europe\/Berlin"\n/,
  )
  const pushed = await run(['config', 'push', 'crm'])
  t.is(pushed.code, 0, pushed.err)
  t.is((await ok(call('GET', at('settings')), 200)).settings.timezone, 'Europe/Berlin')
  const {fields} = await ok(call('GET', at('registry')), 200)
  t.deepEqual(fields, {leads: [{apiName: 'Email', pii: true}, {apiName: 'Company'}]}, 'a push keeps the order of annotations')
  t.is((await run(['config', 'diff', 'crm'])).code, 0, 'what the server filled in is taken over')
  t.is((await run(['config', 'push', 'crm'])).out, 'Nothing to push\n')
  t.is(JSON.parse(read('crm/.lading.json')).version, await version())

  edit('other/settings.json', text => text.replace('masked', 'deny'))
  const stale = await run(['config', 'push', 'other', '--json'])
  t.is(stale.code, 8)
  t.like(JSON.parse(stale.err), {code: 'REGISTRY_CONFLICT', status: 409})
  t.regex(JSON.parse(stale.err).next, /lading config pull/)
  t.is((await ok(call('GET', at('settings')), 200)).settings.aiSamplePolicy, 'masked', 'nothing of it was written')
  const conflict = await run(['config', 'pull', 'other', '--json'])
  t.is(conflict.code, 8)
  t.deepEqual(JSON.parse(conflict.err).conflicts, ['settings.json'])
  t.regex(read('other/settings.json'), /deny/, 'and nothing was written here')
})

test('value maps of templates are pulled and pushed as files', async t => {
  const {run, read, edit, call, org, path} = await open()
  await run(['config', 'pull', 'crm'])
  const file = 'crm/templates/leads-marz.json'
  const map = {values: [{from: 'Unassigned', to: ''}], otherwise: 'keep'}
  edit(file, text => {
    const template = JSON.parse(text)
    Object.assign(template.flows[0].fields[0], map)
    return JSON.stringify(template)
  })
  const pushed = await run(['config', 'push', 'crm'])
  t.is(pushed.code, 0, pushed.err)
  const [template] = (await ok(call('GET', `/orgs/${org}/templates`), 200)).templates
  t.like((await ok(call('GET', path(template.id)), 200)).template.flows[0].fields[0], map)
  await run(['config', 'pull', 'again'])
  t.like(JSON.parse(read('again/templates/leads-marz.json')).flows[0].fields[0], map)
})

test('a pull takes remote changes and keeps local ones, and a push deletes removed files only with --prune', async t => {
  const {run, read, edit, call, at, org, home} = await open()
  edit('crm/libraries/names/manifest.json', () => JSON.stringify(manifest))
  await run(['config', 'pull', 'crm'])
  edit('crm/libraries/names/source.js', () => 'export const shout = text => text.toUpperCase()\n')
  await ok(call('PATCH', at('settings'), {timezone: 'Asia/Tokyo'}), 200)
  const pulled = await run(['config', 'pull', 'crm', '--json'])
  t.like(JSON.parse(pulled.out), {taken: ['settings.json'], kept: ['libraries/names/manifest.json', 'libraries/names/source.js']})
  t.regex(read('crm/settings.json'), /Asia\/Tokyo/)
  t.is((await run(['config', 'push', 'crm'])).code, 0)
  t.is((await ok(call('GET', `/orgs/${org}/libraries`), 200)).libraries.length, 1)

  await run(['-c', 'mv crm/libraries/names/source.js source.js'], {command: ['bash']})
  const half = await run(['config', 'push', 'crm', '--prune'])
  t.regex(half.out, /^Nothing to push\n {2}libraries\/names\/source\.js .* still on the server: restore it, or delete the other file/)
  edit('crm/settings.json', text => text.replace('Asia/Tokyo', 'Asia/Seoul'))
  const more = await run(['config', 'push', 'crm', '--prune', '--json'])
  t.is(more.code, 0, more.err)
  t.like(JSON.parse(more.out), {pushed: ['settings.json'], skipped: ['libraries/names/source.js'], removed: []})
  t.is((await ok(call('GET', `/orgs/${org}/libraries`), 200)).libraries.length, 1)
  await run(['-c', 'mv source.js crm/libraries/names/'], {command: ['bash']})
  t.is((await run(['config', 'diff', 'crm'])).code, 0)

  await run(['-c', 'mv crm/libraries/names crm/libraries/other'], {command: ['bash']})
  const renamed = await run(['config', 'push', 'crm', '--prune'])
  t.is(renamed.code, 4, renamed.out)
  t.regex(renamed.err, /libraries\/other\/manifest\.json has the namespace names/)
  t.is((await ok(call('GET', `/orgs/${org}/libraries`), 200)).libraries.length, 1, 'a renamed directory deletes no library')
  await run(['-c', 'mv crm/libraries/other crm/libraries/names'], {command: ['bash']})

  await run(['-c', 'rm -r crm/libraries crm/templates'], {command: ['bash']})
  const kept = await run(['config', 'push', 'crm'])
  t.regex(kept.out, /^Nothing to push\n {2}libraries\/names\/manifest\.json was deleted here but is still on the server: use --prune/)
  const pruned = await run(['config', 'push', 'crm', '--prune'])
  t.is(pruned.code, 0, pruned.err)
  t.deepEqual((await ok(call('GET', `/orgs/${org}/libraries`), 200)).libraries, [])
  t.deepEqual((await ok(call('GET', `/orgs/${org}/templates`), 200)).templates, [])
  t.is((await run(['config', 'diff', 'crm'])).code, 0)
  const elsewhere = await (await open()).run(['config', 'push', join(home.here, 'crm')])
  t.is(elsewhere.code, 4)
  t.regex(elsewhere.err, /holds the configuration of org_\w+ on /)
})

test('a push with --prune keeps a template whose file was only renamed', async t => {
  const {run, call, org} = await open()
  await run(['config', 'pull', 'crm'])
  const other = `crm/templates/leads-marz-${hashOf('Leads: März').slice(0, 8)}.json`
  await run(['-c', `mv crm/templates/leads-marz.json ${other}`], {command: ['bash']})
  const pushed = await run(['config', 'push', 'crm', '--prune', '--json'])
  t.is(pushed.code, 0, pushed.err)
  t.deepEqual(JSON.parse(pushed.out).removed, [])
  t.like((await ok(call('GET', `/orgs/${org}/templates`), 200)).templates, [{name: 'Leads: März'}])
})

test('a push lists skipped published libraries and exits with 8, and lists names that the CRM does not have', async t => {
  const {run, read, edit, call, org, version} = await open()
  await ok(call('PUT', `/orgs/${org}/libraries/names`, {manifest, source: 'export const shout = text => text\n'}), 200)
  const repository = await ok(call('POST', `/orgs/${org}/tokens`, {name: 'repository'}), 201)
  const push = (...more: string[]) => run(['config', 'push', 'crm', ...more], {env: {LADING_TOKEN: repository.secret}})
  await run(['config', 'pull', 'crm'])
  const path = 'libraries/names/source.js'
  edit(`crm/${path}`, () => 'export const shout = text => text.toUpperCase()\n')
  edit('crm/settings.json', text => text.replace('UTC', 'Europe/Berlin'))
  const {code, out, err} = await push()
  t.is(code, 8)
  t.regex(err, /names was skipped: members publish it/)
  t.regex(
    out,
    /^1 file pushed, 1 not; the configuration is at version \d+\n {2}settings\.json\n {2}libraries\/names\/source\.js \(skipped: people manage this library\)\n$/,
  )
  const alone = await push('--json')
  t.is(alone.code, 8)
  t.like(JSON.parse(alone.out), {pushed: [], skipped: [path], skippedLibraries: ['names']})
  await run(['-c', 'rm -r crm/libraries'], {command: ['bash']})
  edit('crm/settings.json', text => text.replace('Europe/Berlin', 'Asia/Tokyo'))
  t.regex((await push('--prune', '--json')).err, /"LIBRARY_MANAGED"/)
  t.is(JSON.parse(read('crm/.lading.json')).version, await version(), 'the push itself was made')
  edit('crm/modules/leads.json', text => text.replace('"Email"', '"Emial"'))
  const unknown = await push()
  t.is(unknown.code, 7)
  t.regex(unknown.err, /\n {2}leads\.Emial: The CRM has no such field\n/)
})

const json = async (...args: string[]) => {
  const {out, err, code} = await home.run([...args, '--json'])
  if (code !== 0) throw new Error(`${args.join(' ')}: ${code} ${err}`)
  return JSON.parse(out)
}

test('a token is created, used and revoked', async t => {
  const {token, secret} = await json('tokens', 'create', 'nightly', '--expires', '90d')
  t.true(Date.parse(token.expiresAt) > Date.now() + 89 * 86_400_000)
  t.is((await home.run(['whoami'], {env: {LADING_TOKEN: secret}})).code, 0)
  t.regex((await home.run(['tokens'])).out, new RegExp(`^${token.id}\\tnightly\\t${token.prefix}…\\tactive\\t`, 'm'))
  await json('tokens', 'revoke', 'nightly')
  const after = await home.run(['whoami', '--json'], {env: {LADING_TOKEN: secret}})
  t.is(after.code, 5)
  t.is(JSON.parse(after.err).code, 'TOKEN_REVOKED')
})

test('a template is exported to a file, imported under another name, and checked against the CRM', async t => {
  await ok(org.call('POST', `/orgs/${org.org}/templates`, leadsTemplate()), 201)
  await json('templates', 'export', 'Leads of the month', '-o', 'leads.json')
  const path = join(home.here, 'leads.json')
  const document = JSON.parse(readFileSync(path, 'utf8'))
  t.deepEqual(document, {...leadsTemplate(), verify: 'off'})
  const renamed = {...document, name: 'Leads again'}
  writeFileSync(path, JSON.stringify(renamed))
  t.like((await json('templates', 'import', 'leads.json', '--share')).template, {name: 'Leads again', version: 1, shared: true})
  const broken = {...renamed, flows: [{...renamed.flows[0], module: 'Nowhere'}]}
  writeFileSync(path, JSON.stringify(broken))
  t.is((await json('templates', 'import', 'leads.json')).template.version, 2)
  writeFileSync(join(home.here, 'null.json'), 'null')
  t.regex((await home.run(['templates', 'import', 'null.json'])).err, /null\.json holds no JSON object or list/)
  t.is((await home.run(['templates', 'check', 'Leads of the month'])).code, 0)
  const unfit = await home.run(['templates', 'check', 'Leads again'])
  t.is(unfit.code, 8, unfit.err)
  t.regex(unfit.err, /would stop imports/)
  await json('templates', 'delete', 'Leads again')
})

test('a template file replaces none of several templates with its name, except the shared one on request', async t => {
  const document = leadsTemplate({name: 'Twice'})
  const shared = await ok(org.call('POST', `/orgs/${org.org}/templates`, document), 201)
  await ok(org.call('POST', `/orgs/${org.org}/templates/${shared.template.id}/share`, {}), 200)
  await ok(org.call('POST', `/orgs/${org.org}/templates`, document), 201)
  const path = home.put('twice.json', JSON.stringify({...document, description: 'New'}))
  const unclear = await home.run(['templates', 'import', path])
  t.is(unclear.code, 4, unclear.out)
  t.regex(unclear.err, /^Error: Several templates are named Twice\nAdd --share/)
  t.like((await json('templates', 'import', path, '--share')).template, {id: shared.template.id, description: 'New'})
})

test('a schedule is found by its name, switched off and on, and listed', async t => {
  const {template} = await ok(org.call('POST', `/orgs/${org.org}/templates`, leadsTemplate({name: 'Scheduled'})), 201)
  const source = {kind: 'https', url: 'https://files.example.com/leads.csv'}
  const nightly = {name: 'Nightly', cron: '0 3 * * *', timezone: 'UTC', source, connectorId: org.connector}
  await ok(org.call('POST', `/orgs/${org.org}/templates/${template.id}/schedules`, nightly), 201)
  t.false((await json('schedules', 'off', 'Nightly')).schedule.enabled)
  t.regex((await home.run(['schedules'])).out, /\tNightly\tScheduled\t0 3 \* \* \*\tUTC\toff\t/)
  t.true((await json('schedules', 'on', 'Nightly')).schedule.enabled)
  t.is((await home.run(['schedules', 'firings', 'Nightly'])).out, 'This schedule has not fired yet\n')
  t.is((await home.run(['schedules', 'show', 'Weekly'])).code, 7)
})

test('discover reads the CRM again, and usage shows how much of the plan is used', async t => {
  const {discovery} = await json('discover', 'Example CRM')
  t.true(discovery.modules.some(({apiName}: any) => apiName === 'Leads'))
  t.like(await json('usage'), {plan: {key: 'enterprise'}, usage: {rows: {used: 0}}})
  t.like((await json('connections')).connectors, {0: {name: 'Example CRM', state: 'connected'}})
})

test('an administrator exports the audit log to standard output or a file, with dates as start of day in UTC', async t => {
  const {run, read} = await open()
  const shown = await run(['audit', 'export'])
  t.is(shown.code, 0, shown.err)
  const kinds = shown.out
    .trim()
    .split('\n')
    .map(line => JSON.parse(line).kind)
  t.true(kinds.includes('template.shared'), `${kinds}`)
  t.is((await run(['audit', 'export', '--from', '2020-01-01', '--out', 'audit.ndjson'])).code, 0)
  t.true(read('audit.ndjson').includes('template.shared'))
  t.is((await run(['audit', 'export', '--to', '2020-01-01', '-o', 'none.ndjson'])).code, 0)
  t.is(read('none.ndjson'), '')
  t.is((await run(['audit', 'export', '--from', 'yesterday'])).code, 4)
})
