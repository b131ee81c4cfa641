import test from 'ava'
import {listen} from '../../api/listen.ts'
import {isAmong, isRedirectUri} from '../../shared/oauth/redirect.ts'
import {openCalls} from '../client.ts'
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
} from '../oauth-client.ts'
import {endWithWorld, type World, world} from '../world.ts'

let house: World
test.before(async t => {
  house = await world(t, {environment: {RATE_PER_ADDRESS: '0'}})
})

test('a code is sent to no address that reads as one thing and leads to another', t => {
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

test('of a loopback address the port alone is free', t => {
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

test('one kind of secret is never taken for another', async t => {
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

test('a code counts for no other client and no other request, whoever brings it', async t => {
  const [victim, attacker] = [await register(house), await register(house)]
  const [own, theirs] = [newVerifier(), newVerifier()]
  const stolen = parametersOf(await answerPage(house, await reachPage(house, victim, own))).code!
  t.is((await askToken(house, codeGrant(attacker, stolen, theirs))).body.error, 'invalid_grant')
  t.is((await askToken(house, codeGrant(victim, stolen, theirs))).body.error, 'invalid_grant', 'put into a visit of their own')
  t.is((await askToken(house, codeGrant(victim, stolen, ''))).body.error, 'invalid_request', 'no verifier at all')
  const missing = await askFor(house, victim, own, {code_challenge: 'x'.repeat(44)})
  t.is(parametersOf(missing).error, 'invalid_request')
})

test('what a client calls itself is text, and what it registered is all the page leads to', async t => {
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

test('an address cannot be written so that it counts for less', async t => {
  const {url, drain} = await listen({...house.tools, config: {...house.config, PORT: 0, RATE_PER_ADDRESS: 2000}})
  endWithWorld(drain)
  const call = openCalls(url)(null)
  const statuses: number[] = []
  for (const path of ['/oauth/register', '/oauth/register/', '/OAuth/Register', '/oauth/REGISTER/'])
    statuses.push((await call('POST', path, {redirect_uris: [redirectUri]})).status)
  t.deepEqual(statuses, [201, 201, 429, 429])
})
