import test from 'ava'
import {z} from 'zod'
import {listen} from '../../api/listen.ts'
import {isAmong, isRedirectUri} from '../../api/oauth/redirect.ts'
import {ownerOf} from '../../api/rate-limit.ts'
import {sql} from '../../sql/database.ts'
import {openCalls} from '../support/client.ts'
import {
  answerPage,
  askFor,
  askToken,
  codeGrant,
  letIn,
  newVerifier,
  parametersOf,
  reachPage,
  redirectUri,
  register,
  revoke,
} from '../support/oauth-client.ts'
import {endAfterTests, startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let house: TestDeployment
test.before(async t => {
  house = await startTestDeployment(t, {environment: {RATE_PER_ADDRESS: '0'}})
})

test('ambiguous redirect addresses are refused', t => {
  for (const uri of [
    'https:client.example/back',
    'https:/client.example/back',
    'https:////client.example/back',
    'https://good.example@evil.example/',
    'https://good.example\\@evil.example/',
    'https://a;sandbox/',
    'https://a,b.example/',
    "https://'self'/",
    'https://*/',
    'https://*.example/',
    'https://a.example/\r\nset-cookie:x',
    'https://a.example/#',
    'http://localhost.evil.example/',
    'http://localhost./',
    'http://127.0.0.1.evil.example/',
    'http://[::ffff:127.0.0.1]/',
    'http://0.0.0.0/',
    'http://localhost:99999/',
    'JavaScript:alert(1)',
    'java%73cript:alert(1)',
    'blob:https://a.example/x',
    'http:',
    'https://',
    '//a.example/',
    '',
  ])
    t.false(isRedirectUri(uri), uri)
  for (const uri of [
    'https://a.example/',
    'https://a.example:8443/x?y=z',
    'https://xn--bcher-kva.example/',
    'http://[::1]:1/x',
    'com.a.b:/x',
  ])
    t.true(isRedirectUri(uri), uri)
})

test('a redirect address may differ from the registered one only in the port of a loopback address', t => {
  const registered = ['http://localhost:1/back?x=1', 'https://a.example/back', 'com.example.app:/x']
  for (const uri of [
    'http://LOCALHOST:2/back?x=1',
    'http://127.0.0.1:2/back?x=1',
    'http://[::1]:2/back?x=1',
    'http://localhost:2/back',
    'http://localhost:2/back?x=1&y',
    'http://localhost:2/back?x=1#',
    'http://localhost:2/./back?x=1',
    'http://localhost:2@evil.example/back?x=1',
    'https://localhost:2/back?x=1',
    'https://a.example:443/back',
    'https://A.example/back',
    'HTTPS://a.example/back',
    'https://a.example./back',
    'https://a.example/%62ack',
    'com.example.app://x',
    'COM.example.app:/x',
  ])
    t.false(isAmong(registered, uri), uri)
  t.true(isAmong(registered, 'http://localhost:65535/back?x=1'))
  t.true(isAmong(registered, 'http://localhost/back?x=1'))
})

test('a secret of one kind is not accepted as another kind', async t => {
  const given = await letIn(house)
  const session = await house.signIn()
  const {body: me} = await house.as(session)('GET', '/auth/me')
  const api = (await house.as(session)('POST', `/orgs/${me.org.id}/tokens`, {name: 'x'})).body.secret
  const refresh = (token: string) => askToken(house, {grant_type: 'refresh_token', client_id: given.client, refresh_token: token})
  for (const token of [given.access, given.code, session, api]) t.is((await refresh(token)).body.error, 'invalid_grant')
  for (const bearer of [given.refresh, given.code]) t.is((await house.as(bearer)('GET', '/auth/me')).body.code, 'AUTH_REQUIRED')
  for (const code of [given.access, given.refresh, session])
    t.is((await askToken(house, codeGrant(given.client, code, given.verifier))).body.error, 'invalid_grant')
  t.is((await revoke(house, {token: api, client_id: given.client})).status, 200)
  t.is((await house.as(api)('GET', '/auth/me')).status, 200, 'an API token is not taken back by whoever finds it')
  const {request} = await reachPage(house, given.client, newVerifier())
  t.is((await house.as(request)('GET', '/auth/me')).body.code, 'AUTH_REQUIRED')
})

test('a revocation that names no client is refused alike for a known and an unknown token', async t => {
  const {access} = await letIn(house)
  for (const token of [access, 'unknown'])
    t.like(await revoke(house, {token}), {status: 400, body: {error: 'invalid_request', error_description: 'client_id is missing'}})
})

test('a stolen code is refused for another client and another verifier', async t => {
  const [victim, attacker] = [await register(house), await register(house)]
  const [own, theirs] = [newVerifier(), newVerifier()]
  const stolen = parametersOf(await answerPage(house, await reachPage(house, victim, own))).code!
  t.is((await askToken(house, codeGrant(attacker, stolen, theirs))).body.error, 'invalid_grant')
  t.is((await askToken(house, codeGrant(victim, stolen, theirs))).body.error, 'invalid_grant', 'put into a visit of their own')
  t.is((await askToken(house, codeGrant(victim, stolen, ''))).body.error, 'invalid_request', 'no verifier at all')
  const missing = await askFor(house, victim, own, {code_challenge: 'x'.repeat(44)})
  t.is(parametersOf(missing).error, 'invalid_request')
})

test('a ban, a closed org or a lost membership between page, code and token refuses the token', async t => {
  const begin = async () => {
    const [client, verifier] = [await register(house), newVerifier()]
    const reached = await reachPage(house, client, verifier, {user: 'zoe@other.example'})
    return {client, verifier, reached}
  }
  const run = (person: string, change: string) =>
    house.db.query(sql.unsafe`update people set banned_at = case when ${change} = 'ban' then lading_now() end where email = ${person}`)
  const tokenFor = async ({client, verifier}: {client: string; verifier: string}, code: string) =>
    (await askToken(house, codeGrant(client, code, verifier))).body.error

  const first = await begin()
  const {code} = parametersOf(await answerPage(house, first.reached))
  await run('zoe@other.example', 'ban')
  t.is(await tokenFor(first, code!), 'invalid_grant', 'banned after the code')
  await run('zoe@other.example', 'no more')

  const second = await begin()
  await run('zoe@other.example', 'ban')
  t.is((await answerPage(house, second.reached)).body.code, 'BANNED')
  await run('zoe@other.example', 'no more')

  const third = await begin()
  const org = /<option value="([^"]+)"/.exec(third.reached.page.text)![1]!
  await house.db.query(sql.unsafe`update orgs set closed_at = lading_now() where id = ${org}`)
  t.is((await answerPage(house, third.reached)).body.code, 'NOT_FOUND', 'closed while the page was open')
  await house.db.query(sql.unsafe`update orgs set closed_at = null where id = ${org}`)

  const fourth = await begin()
  const late = parametersOf(await answerPage(house, fourth.reached)).code!
  await house.db.query(sql.unsafe`delete from members where org_id = ${org}`)
  t.is(await tokenFor(fourth, late), 'invalid_grant', 'removed after the code')
})

test('an accepted request survives the sign-in, however long its addresses and its state are', async t => {
  const long = `https://client.example/${'x'.repeat(1_970)}`
  const client = await register(house, {redirect_uris: [long, redirectUri]})
  const state = 's'.repeat(2_000)
  const reached = await reachPage(house, client, newVerifier(), {more: {redirect_uri: long, state}})
  t.is(reached.page.status, 200)
  t.is(parametersOf(await answerPage(house, reached)).state, state)
  for (const longer of [`${state}s`, 'é'.repeat(1_001), '"'.repeat(1_001)])
    t.is(parametersOf(await askFor(house, client, newVerifier(), {state: longer})).error, 'invalid_request', longer.slice(0, 2))
})

test('a client registration is limited in size', async t => {
  const post = (body: object) => house.as(null)('POST', '/oauth/register', body)
  t.is((await post({redirect_uris: Array(21).fill(redirectUri)})).body.error, 'invalid_redirect_uri')
  t.is((await post({redirect_uris: [redirectUri], client_name: 'x'.repeat(17_000)})).status, 413)
  t.is((await post({redirect_uris: [redirectUri], client_name: 'x'.repeat(101)})).body.error, 'invalid_client_metadata')
  t.is((await post({redirect_uris: [`https://a.example/${'x'.repeat(2_000)}`]})).body.error, 'invalid_redirect_uri')
  for (const body of [[], [{}], {redirect_uris: {}}]) t.is((await post(body)).status, 400)
})

test('a client name is shown as text, and the page leads only to registered addresses', async t => {
  const names = ['</h1><script>alert(1)</script>', '"><img src=x onerror=1>', '\u3164\u2800\u115f\u200b', 'NO\u200bNCE NONCE', '$&$`']
  for (const client_name of names) {
    const {page} = await reachPage(house, await register(house, {client_name}), newVerifier())
    t.is(page.status, 200)
    const nonce = /style-src 'nonce-([^']+)'/.exec(page.headers.get('content-security-policy')!)![1]!
    t.is(page.text.split(nonce).length, 2, 'the nonce is in one place')
    t.notRegex(page.text, /<(script|img)/)
    t.notRegex(page.text, /[\u3164\u2800\u115f\u200b]/)
    t.notRegex(page.text, /<strong>\s*<\/strong>/)
  }
})

test('all addresses of one IPv6 network count as one client', t => {
  const same = ['2001:db8:0:7::1', '2001:db8:0:7:ffff:1:2:3', '2001:0DB8::7:1:2:3:4', '2001:db8:0:7::%eth0']
  t.deepEqual([...new Set(same.map(ownerOf))], ['2001:db8:0:7::/64'])
  t.deepEqual(['2001:db8::1', '::1', 'fe80::1'].map(ownerOf), ['2001:db8:0:0::/64', '0:0:0:0::/64', 'fe80:0:0:0::/64'])
  for (const ip of ['203.0.113.7', '::ffff:203.0.113.7', '::ffff:cb00:7107', '203.0.113.7:4711', 'unknown', '']) t.is(ownerOf(ip), ip)
})

test('other spellings of an address do not evade the rate limit', async t => {
  const {url, drain} = await listen({...house.tools, config: {...house.config, PORT: 0, RATE_PER_ADDRESS: 2000}}, house)
  endAfterTests(drain)
  const call = openCalls(url)(null)
  const statuses: number[] = []
  const path = '/oauth/register'
  for (const spelled of [path, '/oauth/register/', '/OAuth/Register', '/oauth/REGISTER/', path, path])
    statuses.push((await call('POST', spelled, {redirect_uris: [redirectUri]})).status)
  t.deepEqual(statuses, [201, 404, 404, 404, 201, 429])
})

test('no table contains an OAuth secret', async t => {
  const given = await letIn(house)
  const [client, verifier] = [await register(house), newVerifier()]
  const {code} = parametersOf(await answerPage(house, await reachPage(house, client, verifier)))
  const secrets = [given.access, given.refresh, given.code, code!, verifier]
  const tables = await house.db.anyFirst(sql.type(z.object({name: z.string()}))`
    select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE' order by 1`)
  const holding = async (text: string) => {
    const found = await Promise.all(
      tables.map(async name => {
        const table = sql.identifier([name])
        return (await house.db.exists(sql.unsafe`select from ${table} where ${table}::text like ${`%${text}%`}`)) ? [name] : []
      }),
    )
    return found.flat()
  }
  t.deepEqual(await holding(client), ['oauth_clients', 'oauth_requests'])
  for (const secret of secrets) {
    t.deepEqual(await holding(secret), [])
    // No table may contain the random part alone, or the bytes of the secret.
    t.deepEqual(await holding(secret.slice(-20)), [])
    t.deepEqual(await holding(Buffer.from(secret).toString('hex')), [])
  }
})
