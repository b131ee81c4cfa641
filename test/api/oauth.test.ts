import test from 'ava'
import {z} from 'zod'
import {newId} from '../../shared/ids.ts'
import {sql} from '../../sql/database.ts'
import {findMember, keepMember, markInvited} from '../../sql/members.ts'
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
  signInFrom,
} from '../support/oauth-client.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let house: TestDeployment
test.before(async t => {
  house = await startTestDeployment(t, {environment: {RATE_PER_ADDRESS: '0'}})
})

const meOf = (access: string) => house.as(access)('GET', '/auth/me')
/** Registers a client and submits its consent page with a decision. `answered`: the answer. */
const walkTo = async (decision: string) => {
  const [client, verifier] = [await register(house), newVerifier()]
  const answered = await answerPage(house, await reachPage(house, client, verifier), {decision})
  return {client, verifier, answered}
}
const refresh = (client: string, token: string) => askToken(house, {grant_type: 'refresh_token', client_id: client, refresh_token: token})

test('a client gets from a refusal to a token, and then acts for the person who consented', async t => {
  const resource = (await house.as(null)('GET', '/.well-known/oauth-protected-resource/mcp')).body
  t.like(resource, {resource: `${house.url}/mcp`, authorization_servers: [house.url], scopes_supported: ['mcp']})
  const server = (await house.as(null)('GET', '/.well-known/oauth-authorization-server')).body
  t.like(server, {issuer: house.url, code_challenge_methods_supported: ['S256'], token_endpoint_auth_methods_supported: ['none']})

  const {client, verifier, answered} = await walkTo('allow')
  t.is(answered.status, 303)
  const {code, ...rest} = parametersOf(answered)
  t.deepEqual(rest, {state: 'of the client', iss: house.url})
  t.true(answered.headers.get('location')!.startsWith(`${redirectUri}?`))
  const {status, body, headers} = await askToken(house, {...codeGrant(client, code!, verifier), resource: `${house.url}/mcp`})
  t.is(status, 200)
  t.like(body, {token_type: 'Bearer', expires_in: 3600, scope: 'mcp'})
  t.is(headers.get('cache-control'), 'no-store')

  const {body: session} = await house.as(await house.signIn())('GET', '/auth/me')
  const {body: me} = await meOf(body.access_token)
  t.deepEqual(me, {...session, via: 'oauth'})
})

test('an OAuth token opens only /mcp and /auth/me', async t => {
  const {access} = await letIn(house)
  const {org} = (await meOf(access)).body
  for (const path of [`/orgs/${org.id}/connectors`, '/auth/grants', `/orgs/${org.id}/config/modules`]) {
    const {status, body} = await house.as(access)('GET', path)
    t.deepEqual([status, body.code], [403, 'SESSION_REQUIRED'], path)
  }
  t.is((await house.as(access)('GET', '/staff/people')).body.code, 'ADMIN_REQUIRED')
})

test('the consent page names the client, allows no frames or scripts, and accepts answers only from its browser', async t => {
  const [client, verifier] = [await register(house, {client_name: '<b>Bold</b> "one"\u202e\n x'}), newVerifier()]
  const reached = await reachPage(house, client, verifier)
  t.is(reached.page.status, 200)
  t.true(reached.page.text.includes('&lt;b>Bold&lt;/b> &quot;one&quot; x'))
  t.regex(reached.page.text, /a program on this computer/)
  const policy = reached.page.headers.get('content-security-policy')!
  t.regex(policy, /default-src 'none'.*form-action 'self' http:\/\/127\.0\.0\.1:33418; frame-ancestors 'none'/)
  t.false(policy.includes('script-src'))
  t.false(reached.page.text.includes('<script'))
  t.is(reached.page.headers.get('x-frame-options'), 'DENY')
  t.is(reached.page.headers.get('cache-control'), 'no-store')

  const bare = await house.as(null)('GET', reached.path)
  t.is(bare.body.code, 'SIGN_IN_EXPIRED', 'without the cookie')
  t.is((await answerPage(house, {...reached, cookie: ''})).status, 400)
  t.is((await answerPage(house, {...reached, cookie: `lading-sign-in=${'x'.repeat(43)}`})).status, 400)
  t.is((await answerPage(house, {...reached, request: `${reached.request}x`})).status, 400)
  t.is((await answerPage(house, reached, {headers: {origin: 'https://evil.example'}})).status, 403)
  t.is((await answerPage(house, reached, {more: {org: (await house.makeOrg()).org}})).body.code, 'NOT_FOUND', "another's org")
  t.is((await answerPage(house, reached, {headers: {origin: house.url}})).status, 303)
  t.is((await answerPage(house, reached)).body.code, 'SIGN_IN_EXPIRED', 'answered before')
})

test('each request signs in anew, and a page left open by another person is refused', async t => {
  const [client, verifier] = [await register(house), newVerifier()]
  const first = await reachPage(house, client, verifier)
  const {cookie} = first
  const again = async (user: string) => {
    const asked = await askFor(house, client, verifier, {}, {cookie})
    t.true(asked.headers.get('location')!.startsWith(house.crm.url))
    return signInFrom(house, asked, user)
  }
  const second = await again('ana@example.org')
  t.is((await answerPage(house, first)).status, 303, 'the same person in two tabs')
  const third = await again('zoe@other.example')
  t.is((await answerPage(house, second)).body.code, 'SIGN_IN_EXPIRED', 'left open by somebody else')
  t.is((await answerPage(house, third)).status, 303)
})

test('a person in several orgs chooses one of them', async t => {
  const {body: me} = await house.as(await house.signIn())('GET', '/auth/me')
  const second = await house.makeOrg()
  await keepMember(house.db, {id: newId('mem'), org: second.org, person: me.user.id, role: 'builder'})
  await house.db.transaction(tx => markInvited(tx, {org: second.org, person: me.user.id}))
  const [client, verifier] = [await register(house), newVerifier()]
  const reached = await reachPage(house, client, verifier)
  t.regex(reached.page.text, new RegExp(`value="${me.org.id}" selected`))
  const {code} = parametersOf(await answerPage(house, reached, {more: {org: second.org}}))
  const {body} = await askToken(house, codeGrant(client, code!, verifier))
  t.like((await meOf(body.access_token)).body, {org: {id: second.org}, role: 'builder'})
})

test('any decision other than allow is a denial', async t => {
  for (const decision of ['deny', 'perhaps']) {
    const {answered} = await walkTo(decision)
    t.like(parametersOf(answered), {error: 'access_denied', state: 'of the client', iss: house.url})
    t.is(parametersOf(answered).code, undefined)
  }
})

test('request errors are sent to the client, but only to a registered redirect address', async t => {
  const client = await register(house, {redirect_uris: [redirectUri, 'https://client.example/back']})
  const told = async (more: Record<string, string | undefined>) => parametersOf(await askFor(house, client, newVerifier(), more)).error
  t.is(await told({code_challenge_method: 'plain'}), 'invalid_request')
  t.is(await told({code_challenge_method: undefined}), 'invalid_request')
  t.is(await told({code_challenge: undefined}), 'invalid_request')
  t.is(await told({response_type: 'token'}), 'unsupported_response_type')
  t.is(await told({response_type: undefined}), 'invalid_request')
  t.is(await told({resource: 'https://another.example/mcp'}), 'invalid_target')
  t.is(await told({scope: 'everything'}), 'invalid_scope')
  t.is(await told({redirect_uri: 'http://127.0.0.1:1/callback', scope: 'x'}), 'invalid_scope', 'any port of a loopback address')
  const elsewhere = await askFor(house, client, newVerifier(), {redirect_uri: 'https://client.example/back', scope: 'x'})
  t.deepEqual([elsewhere.status, elsewhere.headers.get('location'), elsewhere.body.oauth], [400, null, 'invalid_scope'], 'no open redirect')

  const strange = [
    'https://client.example/back?x',
    'https://client.example:444/back',
    'https://client.example/back/',
    'http://localhost/callback',
  ]
  for (const redirect_uri of [...strange, 'http://127.0.0.1:33418/callback/../x', 'http://127.0.0.1:80@evil.example/callback', undefined]) {
    const {status, headers, body} = await askFor(house, client, newVerifier(), {redirect_uri})
    t.deepEqual([status, headers.get('location'), body.code], [400, null, 'INVALID'], redirect_uri)
  }
  const unknown = await askFor(house, 'mcl_none', newVerifier(), {}, {accept: 'text/html'})
  t.is(unknown.status, 400)
  t.regex(unknown.text, /no longer registered/)
})

test('a client registers redirect addresses and gets no secret', async t => {
  const post = (body: object) => house.as(null)('POST', '/oauth/register', body)
  const {status, body} = await post({redirect_uris: ['cursor://x/y'], token_endpoint_auth_method: 'client_secret_basic', scope: 'a'})
  t.is(status, 201)
  t.like(body, {token_endpoint_auth_method: 'none', redirect_uris: ['cursor://x/y'], client_name: 'An unnamed client'})
  t.is(body.client_secret, undefined)
  for (const uri of [
    'http://client.example/',
    'javascript:alert(1)',
    'data:text/html,x',
    'https://a.example/#x',
    'https://u:p@a.example/',
    'x',
    'file:///x',
  ])
    t.deepEqual([(await post({redirect_uris: [uri]})).body.error, uri], ['invalid_redirect_uri', uri])
  t.is((await post({})).body.error, 'invalid_redirect_uri')
  t.is((await post({redirect_uris: ['com.example.app:/x'], client_name: 7})).body.error, 'invalid_client_metadata')
  t.is((await post({redirect_uris: ['com.example.app:/x']})).status, 201)
})

test('a code works once, for its client, redirect address and verifier', async t => {
  const bent: [string, (right: Record<string, string | undefined>) => object][] = [
    ['another verifier', () => ({code_verifier: newVerifier()})],
    ['a verifier that is too short', () => ({code_verifier: 'short'})],
    ['another client', () => ({client_id: 'mcl_other'})],
    ['another redirect address', () => ({redirect_uri: 'http://127.0.0.1:1/callback'})],
  ]
  for (const [what, bend] of bent) {
    const {client, verifier, answered} = await walkTo('allow')
    const right = codeGrant(client, parametersOf(answered).code!, verifier)
    const wrong = await askToken(house, {...right, ...bend(right)})
    t.deepEqual([wrong.status, wrong.body.error], [400, 'invalid_grant'], what)
    t.is((await askToken(house, right)).body.error, 'invalid_grant', `${what} used it up`)
  }
  const {client, verifier, answered} = await walkTo('allow')
  const right = codeGrant(client, parametersOf(answered).code!, verifier)
  const [one, other] = await Promise.all([askToken(house, right), askToken(house, right)])
  t.deepEqual([one.status, other.status].toSorted(), [200, 400], 'of two at once one has it')
  const {access_token, refresh_token} = (one.status === 200 ? one : other).body
  t.is((await meOf(access_token)).body.code, 'TOKEN_REVOKED', 'and what it gave is taken back, for one of the two stole it')
  t.is((await refresh(client, refresh_token)).body.error, 'invalid_grant')
})

test('a client of OAuth 2.1 exchanges a code without the redirect address', async t => {
  const {client, verifier, answered} = await walkTo('allow')
  const right = codeGrant(client, parametersOf(answered).code!, verifier)
  t.is((await askToken(house, {...right, redirect_uri: undefined})).status, 200)
})

test('a code expires after a minute', async t => {
  const {client, verifier, answered} = await walkTo('allow')
  const {code} = parametersOf(answered)
  await house.db.query(
    sql.unsafe`update oauth_requests set code_expires_at = code_expires_at - interval '60 seconds' where client_id = ${client}`,
  )
  t.is((await askToken(house, codeGrant(client, code!, verifier))).body.error, 'invalid_grant')
})

test('a refresh token used again within 30 seconds leads to the same tokens; used later, the grant is revoked', async t => {
  const first = await letIn(house)
  const both = await Promise.all([refresh(first.client, first.refresh), refresh(first.client, first.refresh)])
  t.deepEqual([both[0].status, both[1].status], [200, 200], 'two windows of one program')
  const {expires_in: _, ...tokens} = both[0].body
  t.like(both[1].body, tokens, 'one chain')
  t.like((await refresh(first.client, first.refresh)).body, {...tokens, expires_in: 3570})
  const kept = sql.type(z.object({count: z.number()}))`
    select count(*)::int as count from oauth_tokens where grant_id = (select id from oauth_grants where client_id = ${first.client})`
  t.is((await house.db.one(kept)).count, 4, 'two tokens from the code, two from the refresh token')
  const second = both.map(({body}) => body).find(({expires_in}) => expires_in === 3600)
  t.like(second, {token_type: 'Bearer', expires_in: 3600})
  t.is((await meOf(second.access_token)).status, 200)
  t.is((await meOf(first.access)).status, 200, 'the older access token lives out its hour')
  t.is((await refresh('mcl_other', second.refresh_token)).body.error, 'invalid_grant', 'of another client')
  await house.db.query(sql.unsafe`
    update oauth_tokens set used_at = used_at - interval '31 seconds' where grant_id = (select id from oauth_grants where client_id = ${first.client})`)
  t.is((await refresh(first.client, first.refresh)).body.error, 'invalid_grant')
  t.is((await refresh(first.client, second.refresh_token)).body.error, 'invalid_grant')
  t.is((await meOf(second.access_token)).body.code, 'TOKEN_REVOKED')
})

test('an access token expires after an hour, a refresh token after a month', async t => {
  const {client, access, refresh: token} = await letIn(house)
  const age = (kind: string, seconds: number) =>
    house.db.query(sql.unsafe`
    update oauth_tokens set expires_at = expires_at - make_interval(secs => ${seconds})
    where kind = ${kind} and grant_id = (select id from oauth_grants where client_id = ${client})`)
  await age('access', 3_600)
  t.is((await meOf(access)).body.code, 'TOKEN_EXPIRED')
  await age('refresh', 30 * 86_400)
  t.is((await refresh(client, token)).body.error, 'invalid_grant')
})

test('the token endpoint accepts a form and names missing parameters', async t => {
  t.is((await house.as(null)('POST', '/oauth/token', {grant_type: 'refresh_token'})).body.error, 'invalid_request')
  t.is((await askToken(house, {})).body.error, 'invalid_request')
  t.is((await askToken(house, {grant_type: 'constructor'})).body.error, 'unsupported_grant_type')
  t.is((await askToken(house, {grant_type: 'password', username: 'x'})).body.error, 'unsupported_grant_type')
  t.is((await askToken(house, {...codeGrant('mcl_x', 'x', newVerifier()), resource: 'https://x.example/'})).body.error, 'invalid_target')
})

test('a client can revoke its grant with either token', async t => {
  for (const kind of ['access', 'refresh'] as const) {
    const given = await letIn(house)
    t.is((await revoke(house, {token: given[kind], client_id: 'mcl_other'})).body.error, 'invalid_client')
    t.is((await meOf(given.access)).status, 200)
    t.is((await revoke(house, {token: given[kind], client_id: given.client})).status, 200)
    t.is((await meOf(given.access)).body.code, 'TOKEN_REVOKED')
    t.is((await refresh(given.client, given.refresh)).body.error, 'invalid_grant')
  }
  t.is((await revoke(house, {token: 'nobody knows it', client_id: 'mcl_x'})).status, 200)
})

test('a person can list and revoke their grants, and other persons cannot', async t => {
  const {client, access} = await letIn(house)
  const mine = house.as(await house.signIn())
  const grant = (await mine('GET', '/auth/grants')).body.grants.find((one: any) => one.client.id === client)
  t.like(grant, {client: {name: 'Test Client'}, revokedAt: null})
  const other = house.as((await house.makeOrg({org: (await meOf(access)).body.org.id, role: 'owner'})).token)
  t.deepEqual((await other('GET', '/auth/grants')).body, {grants: []})
  t.is((await other('DELETE', `/auth/grants/${grant.id}`)).status, 404)
  t.truthy((await mine('DELETE', `/auth/grants/${grant.id}`)).body.grant.revokedAt)
  t.is((await mine('DELETE', `/auth/grants/${grant.id}`)).status, 200)
  t.is((await meOf(access)).body.code, 'TOKEN_REVOKED')
  t.false((await mine('GET', '/auth/grants')).body.grants.some((one: any) => one.client.id === client))
})

test('a grant follows its member: demoted, banned or removed', async t => {
  const {client, access, refresh: token} = await letIn(house, {user: 'zoe@other.example'})
  const {org, user, role} = (await meOf(access)).body
  const member = {org: org.id, person: user.id}
  t.is(role, 'owner')
  await house.db.query(sql.unsafe`update members set role = 'operator' where org_id = ${org.id} and person_id = ${user.id}`)
  t.is((await meOf(access)).body.role, 'operator')
  await house.db.query(sql.unsafe`update people set banned_at = lading_now() where id = ${user.id}`)
  t.deepEqual([(await meOf(access)).status, (await meOf(access)).body.code], [403, 'BANNED'])
  await house.db.query(sql.unsafe`update people set banned_at = null where id = ${user.id}`)
  const boss = house.as((await house.makeOrg({org: org.id, role: 'owner'})).token)
  t.is((await boss('DELETE', `/orgs/${org.id}/members/${(await findMember(house.db, member))!.id}`)).status, 200)
  t.is((await meOf(access)).body.code, 'AUTH_REQUIRED')
  t.is((await refresh(client, token)).body.error, 'invalid_grant')
  await house.signIn('zoe@other.example')
  t.is((await meOf(access)).body.code, 'AUTH_REQUIRED', 'a new membership brings nothing back')
})
