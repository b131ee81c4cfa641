import {existsSync, mkdirSync, readFileSync, writeFileSync} from 'node:fs'
import {dirname, join} from 'node:path'
import test from 'ava'
import {openHome} from '../cli-process.ts'
import {ok} from '../importing.ts'
import {makeTemplate, openTemplates} from '../templating.ts'
import {type World, world} from '../world.ts'

let house: World
test.before(async t => {
  house = await world(t)
})

/** An org with a template and a module, and a command line of an administrator. */
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

test('the configuration is pulled, edited, compared and pushed; a stale push is refused, and a pull mends it', async t => {
  const {run, read, edit, call, at, version} = await open()
  const pulled = await run(['config', 'pull', 'crm', '--json'])
  t.is(pulled.code, 0, pulled.err)
  const files = ['fields/Leads.json', 'modules/Leads.json', 'settings.json', 'templates/leads-marz.json', 'writing.json']
  const key = JSON.parse(pulled.out).taken.find((path: string) => path.startsWith('modules/'))
  t.deepEqual(
    JSON.parse(pulled.out).taken.map((path: string) => path.replace(/(modules|fields)\/.*/, '$1/Leads.json')),
    files,
  )
  t.deepEqual(JSON.parse(read(`crm/${key}`)).uniqueFields, ['Email'])
  const again = await run(['config', 'pull', 'crm', '--json'])
  t.deepEqual(JSON.parse(again.out).taken, [], 'the same again is the same text')
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
    /--- there\/settings\.json\n\+\+\+ here\/settings\.json\n@@ [^\n]+ @@\n(.*\n)*- {2}"timezone": "UTC"\n\+ {2}"timezone": "Europe\/Berlin"\n/,
  )
  const pushed = await run(['config', 'push', 'crm'])
  t.is(pushed.code, 0, pushed.err)
  t.is((await ok(call('GET', at('settings')), 200)).settings.timezone, 'Europe/Berlin')
  t.is((await run(['config', 'diff', 'crm'])).code, 0, 'what the server filled in is taken over')
  t.is((await run(['config', 'push', 'crm'])).out, 'Nothing to push\n')
  t.is(JSON.parse(read('crm/.lading.json')).version, await version())

  edit('other/settings.json', text => text.replace('masked', 'deny'))
  const stale = await run(['config', 'push', 'other', '--json'])
  t.is(stale.code, 7)
  t.like(JSON.parse(stale.err), {code: 'REGISTRY_CONFLICT', status: 409})
  t.regex(JSON.parse(stale.err).next, /lading config pull/)
  t.is((await ok(call('GET', at('settings')), 200)).settings.aiSamplePolicy, 'masked', 'nothing of it was written')
  const conflict = await run(['config', 'pull', 'other', '--json'])
  t.is(conflict.code, 8)
  t.deepEqual(JSON.parse(conflict.err).conflicts, ['settings.json'])
  t.regex(read('other/settings.json'), /deny/, 'and nothing was written here')
})

test('what others changed is taken, what you changed is kept, and what you deleted goes when you say so', async t => {
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

  await run(['-c', 'rm -r crm/libraries crm/templates'], {command: ['bash']})
  const kept = await run(['config', 'push', 'crm'])
  t.regex(kept.out, /^Nothing to push\n {2}libraries\/names\/manifest\.json was deleted here and is still there: --prune/)
  const pruned = await run(['config', 'push', 'crm', '--prune'])
  t.is(pruned.code, 0, pruned.err)
  t.deepEqual((await ok(call('GET', `/orgs/${org}/libraries`), 200)).libraries, [])
  t.deepEqual((await ok(call('GET', `/orgs/${org}/templates`), 200)).templates, [])
  t.is((await run(['config', 'diff', 'crm'])).code, 0)
  const elsewhere = await (await open()).run(['config', 'push', join(home.here, 'crm')])
  t.is(elsewhere.code, 4)
  t.regex(elsewhere.err, /is the configuration of org_\w+ at /)
})
