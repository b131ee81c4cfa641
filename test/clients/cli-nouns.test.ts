import {readFileSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import test from 'ava'
import {openHome} from '../cli-process.ts'
import {ok, openOrg} from '../importing.ts'
import {leadsTemplate} from '../templating.ts'
import {type World, world} from '../world.ts'

/** What is set up from a terminal: each noun once, as a script would use it. */
let house: World
let org: Awaited<ReturnType<typeof openOrg>>
let home: ReturnType<typeof openHome>

test.before(async t => {
  house = await world(t, {workers: ['discovery']})
  org = await openOrg(house)
  home = openHome({LADING_URL: house.url, LADING_TOKEN: org.session})
})

const json = async (...args: string[]) => {
  const {out, err, code} = await home.run([...args, '--json'])
  if (code !== 0) throw new Error(`${args.join(' ')}: ${code} ${err}`)
  return JSON.parse(out)
}

test('a token is made, used and ended', async t => {
  const {token, secret} = await json('tokens', 'create', 'nightly', '--expires', '90d')
  t.true(Date.parse(token.expiresAt) > Date.now() + 89 * 86_400_000)
  t.is((await home.run(['whoami'], {env: {LADING_TOKEN: secret}})).code, 0)
  t.regex((await home.run(['tokens'])).out, new RegExp(`^${token.id}\\tnightly\\t${token.prefix}…\\tgood\\t`, 'm'))
  await json('tokens', 'revoke', 'nightly')
  const after = await home.run(['whoami', '--json'], {env: {LADING_TOKEN: secret}})
  t.is(after.code, 5)
  t.is(JSON.parse(after.err).code, 'TOKEN_REVOKED')
})

test('a template goes out as a file, comes back under another name, and is checked against the CRM', async t => {
  await ok(org.call('POST', `/orgs/${org.org}/templates`, leadsTemplate()), 201)
  await json('templates', 'export', 'Leads of the month', '-o', 'leads.json')
  const path = join(home.here, 'leads.json')
  const document = JSON.parse(readFileSync(path, 'utf8'))
  t.deepEqual(document, leadsTemplate())
  const renamed = {...document, name: 'Leads again'}
  writeFileSync(path, JSON.stringify(renamed))
  t.like((await json('templates', 'import', 'leads.json', '--share')).template, {name: 'Leads again', version: 1, shared: true})
  const broken = {...renamed, flows: [{...renamed.flows[0], module: 'Nowhere'}]}
  writeFileSync(path, JSON.stringify(broken))
  t.is((await json('templates', 'import', 'leads.json')).template.version, 2)
  t.is((await home.run(['templates', 'check', 'Leads of the month'])).code, 0)
  const unfit = await home.run(['templates', 'check', 'Leads again'])
  t.is(unfit.code, 8, unfit.err)
  t.regex(unfit.err, /would stop an import/)
  await json('templates', 'delete', 'Leads again')
})

test('a schedule is found by its name, switched off and on, and told of', async t => {
  const {template} = await ok(org.call('POST', `/orgs/${org.org}/templates`, leadsTemplate({name: 'Scheduled'})), 201)
  const source = {kind: 'https', url: 'https://files.example.com/leads.csv'}
  const nightly = {name: 'Nightly', cron: '0 3 * * *', timezone: 'UTC', source, connectorId: org.connector}
  await ok(org.call('POST', `/orgs/${org.org}/templates/${template.id}/schedules`, nightly), 201)
  t.false((await json('schedules', 'off', 'Nightly')).schedule.enabled)
  t.regex((await home.run(['schedules'])).out, /\tNightly\tScheduled\t0 3 \* \* \*\tUTC\toff\t/)
  t.true((await json('schedules', 'on', 'Nightly')).schedule.enabled)
  t.is((await home.run(['schedules', 'firings', 'Nightly'])).out, 'It has not fired yet\n')
  t.is((await home.run(['schedules', 'show', 'Weekly'])).code, 4)
})

test('the CRM is read again, and what of the plan is used is told', async t => {
  const {discovery} = await json('discover', 'Example CRM')
  t.true(discovery.modules.some(({apiName}: any) => apiName === 'Leads'))
  t.like(await json('usage'), {plan: {key: 'enterprise'}, usage: {rows: {used: 0}}})
  t.like((await json('connections')).connectors, {0: {name: 'Example CRM', state: 'connected'}})
})
