import {randomBytes} from 'node:crypto'
import test, {type ExecutionContext} from 'ava'
import type {Config} from '../../shared/config.ts'
import {sql} from '../../sql/database.ts'
import {findSecrets} from '../faults/secrets.ts'
import {startApiProcess} from '../support/api-process.ts'
import {type Call, openCalls} from '../support/client.ts'
import {describeContacts, startContacts} from '../support/described.ts'
import {accounts, ok, runImport} from '../support/importing.ts'
import {letIn} from '../support/oauth-client.ts'
import {makeTemplate, seldom} from '../support/schedules.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {beginVisit, comeBack, consent, messageOf, visitOf} from '../support/walk.ts'
import {endWorker, startWorker} from '../support/worker-spawn.ts'

const keyring = `k1:${randomBytes(32).toString('base64')}`
const workers = ['imports', 'discovery', 'notices', 'schedules']

/** Issued secrets, and the number of canaries in text that people wrote. */
type SecretPlaces = {secrets: string[]; canaries: number}

test('secrets are stored in no table, and logs contain neither secrets nor text that people wrote', async t => {
  t.timeout(400_000)
  const there = await startContacts({auth: {header: 'authorization', value: 'Bearer canary-of-a-destination'}})
  t.teardown(there.stop)
  const house = await startTestDeployment(t, {environment: {SECRETS_KEYS: keyring, ...places(there.url)}})
  const environment = {LOG_LEVEL: 'trace', SECRETS_KEYS: keyring, ...places(there.url)}
  const logs = await startBoth(t, house.config, environment)
  const told = await tellAll({...house, as: openCalls(logs.url), url: logs.url} as TestDeployment, describeContacts(there, destination))
  await findInTables(t, house, told)
  await logs.end()
  findInLog(t, logs.lines(), told)
})

/** Settings with which the webhook of the test points to a private address without a listener. */
const places = (url: string) => ({GENERIC_ORIGINS: url, PRIVATE_HOSTS: '127.0.0.1:1'})

const destination = {auth: {header: 'Authorization', scheme: 'Bearer'}}

const startBoth = async (t: ExecutionContext, config: Config, environment: Record<string, string>) => {
  const {DATABASE_URL, CRM_STANDIN_URL, STORAGE_DIR, ADMIN_TOKEN} = config
  const place = {DATABASE_URL: DATABASE_URL!, CRM_STANDIN_URL: CRM_STANDIN_URL!, STORAGE_DIR, ADMIN_TOKEN: ADMIN_TOKEN!}
  const api = await startApiProcess({...place, ...environment})
  const worker = startWorker(config, environment, workers)
  let said = ''
  worker.stdout!.setEncoding('utf8').on('data', chunk => (said += chunk))
  const end = async () => {
    api.signal('SIGTERM')
    await Promise.all([api.exit, endWorker(worker)])
  }
  t.teardown(end)
  return {url: api.url, lines: () => [...api.output().split('\n'), ...said.split('\n')].filter(Boolean), end}
}

const tellAll = async (house: TestDeployment, document: object): Promise<SecretPlaces> => {
  const visit = await beginVisit(house.as(null))
  const back = await consent(visit)
  const session = messageOf(await comeBack(house.as(null), back, visit.cookie)).token as string
  const call = house.as(session)
  const org = (await ok(call('GET', '/auth/me'), 200)).org.id as string
  const connecting = visitOf(await call('POST', `/auth/orgs/${org}/connect`, {dc: 'local', name: 'canary-of-a-connection'}))
  const connected = await consent(connecting)
  const connector = messageOf(await comeBack(house.as(null), connected, connecting.cookie)).connectorId as string
  const cookies = [visit.cookie, connecting.cookie].map(cookie => cookie.split('=')[1]!)
  const passing = [...[back, connected].flatMap(secretsOf), ...cookies]
  const kept = await keepSecrets({call, org, connector}, document)
  const {verifier, code, access, refresh} = await letIn(house)
  const view = await house.openView({org})
  await misuse(house.as(kept.token), org)
  const canaries = await importCells({call, org, connector, session})
  const secrets = [session, verifier, code, access, refresh, view, house.adminToken, ...passing, ...Object.values(kept)]
  return {secrets, canaries}
}

const secretsOf = (back: string) => ['state', 'code'].map(name => new URL(back, 'http://x').searchParams.get(name)!)

type Home = {call: Call; org: string; connector: string}

/** Creates an API token, a webhook with two secrets, a schedule with a bearer and a generic connection. Returns their secrets. */
const keepSecrets = async ({call, org, connector}: Home, document: object) => {
  const token = (await ok(call('POST', `/orgs/${org}/tokens`, {name: 'canary-of-a-token'}), 201)).secret as string
  const hook = await ok(call('POST', `/orgs/${org}/webhooks`, {url: 'https://127.0.0.1:1/hook?canary-of-a-hook=1'}), 201)
  const turned = await ok(call('POST', `/orgs/${org}/webhooks/${hook.webhook.id}/secret`, {}), 200)
  await ok(call('POST', `/orgs/${org}/webhooks/${hook.webhook.id}/test`, {}), 202)
  const template = await makeTemplate({call, org, connector, session: ''})
  const source = {kind: 'https', url: 'https://files.example/a.csv', bearer: 'canary-of-a-source'}
  await ok(call('POST', `${template}/schedules`, {name: 'Nightly', ...seldom, source}), 201)
  const secret = 'canary-of-a-destination'
  await ok(call('POST', `/orgs/${org}/connectors`, {kind: 'generic', name: 'Plain', document, secret}), 201)
  return {token, webhook: hook.secret as string, next: turned.secret as string, source: source.bearer, destination: secret}
}

/** Sends requests that the API refuses, each with personal data. */
const misuse = async (call: Call, org: string) => {
  await call('POST', `/orgs/${org}/tokens`, '{"name": canary-of-bad-json', {'content-type': 'application/json'})
  await call('GET', `/canary-of-a-path?canary-of-a-query=1`, undefined, {cookie: 'a=canary-of-a-cookie', 'x-api-key': 'canary-of-a-header'})
  await call('POST', `/orgs/${org}/invitations`, {email: 'canary-of-an-address', role: 'king'})
  await call('PATCH', `/orgs/${org}/webhooks/canary-of-an-id`, {description: 'canary-of-a-description'})
  await call('POST', `/orgs/${org}/expressions/test`, {expression: 'canary of = code', columns: ['canary-of-a-column']})
}

const rows = 2_500
/** Imports rows with four canaries each. The CRM refuses a tenth of the rows. Returns the number of canaries. */
const importCells = async (org: Home & {session: string}) => {
  await ok(org.call('POST', `/orgs/${org.org}/discovery/run`, {connectorId: org.connector}, {prefer: 'wait=30'}), 200)
  const lines = Array.from({length: rows}, (_, n) => {
    const cells = ['name', 'number', 'city', 'more'].map(name => `canary-of-a-${name}-${n}`)
    return (n % 10 === 0 ? [cells[0]!.repeat(20), ...cells.slice(1)] : cells).join(',')
  })
  await runImport(org, {csv: `name,number,city,more\n${lines.join('\n')}\n`, flow: accounts})
  return rows * 4
}

const findInTables = async (t: ExecutionContext, house: TestDeployment, {secrets}: SecretPlaces) => {
  const dumped = await dumpOf(house)
  for (const [at, secret] of secrets.entries())
    for (const form of formsOf(secret)) t.false(dumped.includes(form), `secret ${at} is in the database: ${form.slice(0, 12)}`)
  const found = findSecrets(dumped).filter(name => name !== 'a cell of a row')
  t.deepEqual(found, [], 'nothing that looks like a secret, whoever made it')
  t.true((dumped.match(/v1\.k1\.[\w-]{16}\.[\w-]+/g) ?? []).length >= 6, 'what is sealed was there to look into')
}

const formsOf = (secret: string) => {
  const bytes = Buffer.from(secret)
  return [secret, secret.slice(-20), bytes.toString('hex'), bytes.toString('base64url'), bytes.toString('base64').slice(0, -4)]
}

/** Returns every row of every table as text, except for Postgres's own schemas. */
const dumpOf = async ({db}: TestDeployment): Promise<string> => {
  const tables = (await db.any(sql.unsafe`
    select table_schema as schema, table_name as name from information_schema.tables
    where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`)) as {schema: string; name: string}[]
  const texts: string[] = []
  for (const {schema, name} of tables) {
    const table = sql.identifier([schema, name])
    texts.push(...((await db.anyFirst(sql.unsafe`select t::text from ${table} t`)) as string[]))
  }
  return texts.join('\n')
}

const findInLog = (t: ExecutionContext, lines: string[], {secrets, canaries}: SecretPlaces) => {
  const log = lines.join('\n')
  t.true(
    canaries >= 10_000 && lines.some(line => line.includes('"name":"api"')) && lines.some(line => line.includes('worker')),
    'both have logged',
  )
  for (const [at, secret] of secrets.entries()) t.false(log.includes(secret), `secret ${at} is in a log`)
  t.deepEqual(lines.filter(line => line.includes('canary')).slice(0, 3), [])
  t.deepEqual(lines.filter(line => findSecrets(line).length > 0).slice(0, 3), [])
  for (const person of ['ana@example.org', 'Ana Ruiz']) t.false(log.includes(person), person)
}
