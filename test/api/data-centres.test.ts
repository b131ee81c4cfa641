import test from 'ava'
import {authorise} from '../../api/oauth/authorise.ts'
import {readConfig} from '../../shared/config.ts'
import {findAccounts, findHosts, isApiDomain, listHosts} from '../../shared/crm/hosts.ts'
import {findClient} from '../../shared/crm/oauth-client.ts'
import {sql} from '../../sql/database.ts'
import {challengeOf, newVerifier, redirectUri, register} from '../support/oauth-client.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {beginVisit, comeBack, consent} from '../support/walk.ts'

/** The OAuth client. Its secret at the second data centre differs. */
const clients = [{clientId: '1000.LADING', clientSecret: 'shared', redirectUris: 'any-loopback' as const, secrets: {eu: 'of-eu'}}]
const environment = (more: Record<string, string> = {}) => ({CRM_CLIENT_SECRET: 'shared', ...more})
const ofEu = JSON.stringify({'local-eu': {id: '1000.LADING', secret: 'of-eu'}})

let house: TestDeployment
let withoutEu: TestDeployment
test.before(async t => {
  house = await startTestDeployment(t, {crm: {clients}, environment: environment({CRM_CLIENTS: ofEu})})
  withoutEu = await startTestDeployment(t, {crm: {clients}, environment: environment()})
})

const config = (CRM_HOSTS = '[]', CRM_CLIENTS = '{}') => readConfig({CRM_HOSTS, CRM_CLIENTS, CRM_CLIENT_SECRET: 'ours'})

const TABLE = [
  ['us', 'accounts.zoho.com', 'zohoapis.com'],
  ['eu', 'accounts.zoho.eu', 'zohoapis.eu'],
  ['in', 'accounts.zoho.in', 'zohoapis.in'],
  ['au', 'accounts.zoho.com.au', 'zohoapis.com.au'],
  ['jp', 'accounts.zoho.jp', 'zohoapis.jp'],
  ['cn', 'accounts.zoho.com.cn', 'zohoapis.com.cn'],
  ['ca', 'accounts.zohocloud.ca', 'zohoapis.ca'],
  ['sa', 'accounts.zoho.sa', 'zohoapis.sa'],
  ['uk', 'accounts.zoho.uk', 'zohoapis.uk'],
  ['ae', 'accounts.zoho.ae', 'zohoapis.ae'],
] as const

for (const [dc, accounts, api] of TABLE)
  test(`the data centre ${dc} has its sign-in host and its live, sandbox and developer API hosts, and no other`, t => {
    const hosts = findHosts(config(), dc)!
    t.is(findAccounts(config(), `https://${accounts}/`)?.dc, dc)
    for (const start of ['www', 'sandbox', 'developer']) t.true(isApiDomain(hosts, `https://${start}.${api}`), start)
    for (const wrong of [`https://evil.${api}`, `http://www.${api}`, `https://www.${api}.evil.org`, 'https://www.example.org'])
      t.false(isApiDomain(hosts, wrong), wrong)
  })

test('CRM_HOSTS adds a data centre or replaces its hosts, and accepts only https hosts', t => {
  const sg = {dc: 'sg', accounts: 'https://accounts.zoho.sg/', apiDomain: 'https://www.zohoapis.sg'}
  const uk = {dc: 'uk', accounts: 'https://accounts.zohocloud.uk', apiDomain: 'https://www.zohoapis.uk'}
  const own = config(JSON.stringify([sg, uk]))
  t.is(findAccounts(own, 'https://accounts.zoho.sg')?.dc, 'sg')
  t.is(findHosts(own, 'uk')?.accounts, 'https://accounts.zohocloud.uk')
  t.is(findAccounts(own, 'https://accounts.zoho.uk'), undefined, 'the replaced host is no longer called')
  t.is(listHosts(own).length, TABLE.length + 1)
  for (const wrong of [
    '{',
    '[{"dc":"sg"}]',
    JSON.stringify([{...sg, apiDomain: 'http://www.zohoapis.sg'}]),
    JSON.stringify([{...sg, dc: 'S G'}]),
  ])
    t.throws(() => config(wrong), {message: /CRM_HOSTS: JSON such as/}, wrong)
})

test('a data centre uses its own client or the shared one, and has none if only other data centres have one', t => {
  const own = config('[]', '{"eu": {"id": "1000.EU", "secret": "s"}}')
  t.deepEqual(findClient(own, 'eu'), {id: '1000.EU', secret: 's'})
  t.deepEqual(findClient(own, 'us'), {id: '1000.LADING', secret: 'ours'})
  t.is(findClient({...own, CRM_CLIENT_SECRET: 'stand-in-secret'}, 'us'), null)
  for (const wrong of ['[]', '{"eu": {"id": "x"}}', '{"eu": {"id": "", "secret": "s"}}', 'eu:x'])
    t.throws(() => config('[]', wrong), {message: /CRM_CLIENTS: JSON such as/}, wrong)
})

test('the sign-in of an MCP client begins at a data centre that has a client, at the US if it has one', async t => {
  const asked = {response_type: 'code', client_id: await register(house), redirect_uri: redirectUri}
  const challenge = {code_challenge: challengeOf(newVerifier()), code_challenge_method: 'S256'}
  const begin = async (environment: Record<string, string>) => {
    const {url} = await authorise({...house.tools, config: readConfig(environment)}, {...asked, ...challenge}, null)
    return [new URL(url).host, new URL(url).searchParams.get('client_id')]
  }
  const CRM_CLIENTS = '{"in": {"id": "1000.IN", "secret": "s"}, "eu": {"id": "1000.EU", "secret": "s"}}'
  t.deepEqual(await begin({CRM_CLIENTS}), ['accounts.zoho.eu', '1000.EU'])
  t.deepEqual(await begin({CRM_CLIENTS, CRM_CLIENT_SECRET: 'ours'}), ['accounts.zoho.com', '1000.LADING'])
  t.deepEqual(await begin({CRM_CLIENTS: '{"us": {"id": "1000.US", "secret": "s"}}'}), ['accounts.zoho.com', '1000.US'])
})

test('sign-ins, connections and renewals at another data centre use the secret of that data centre', async t => {
  const token = await house.signIn('kim@eu.example')
  const connector = await house.connect(token, {user: 'kim@eu.example'})
  await house.db.query(sql.unsafe`update grants set access_sealed = null, access_expires_at = null where connector_id = ${connector}`)
  const org = (await house.as(token)('GET', '/auth/me')).body.org.id
  const [checked] = (await house.as(token)('GET', `/auth/orgs/${org}/connection`)).body.connections
  t.like(checked, {dc: 'local-eu', health: 'ok'})
  const renewals = house.crm.journal({}).filter(call => call.path === '/oauth/v2/token' && JSON.stringify(call).includes('refresh_token'))
  t.not(renewals.length, 0)
})

test('without the secret of a data centre the sign-in says that it is not accepted there', async t => {
  const visit = await beginVisit(withoutEu.as(null))
  const {status, text} = await comeBack(withoutEu.as(null), await consent(visit, {user: 'kim@eu.example'}), visit.cookie)
  t.is(status, 502)
  t.regex(text, /refused this service \(invalid_client\)/)
})

test('a token that names an unlisted API host is not used', async t => {
  withoutEu.crm.setSwitches({apiDomain: 'https://www.zohoapis.com.evil.example'})
  withoutEu.crm.clearJournal()
  const visit = await beginVisit(withoutEu.as(null))
  const {status, text} = await comeBack(withoutEu.as(null), await consent(visit), visit.cookie)
  withoutEu.crm.setSwitches({apiDomain: null})
  t.is(status, 502)
  t.regex(text, /an unknown API host/)
  t.deepEqual(
    withoutEu.crm.journal({}).filter(({path}) => path.startsWith('/crm/')),
    [],
  )
})
