import {createHash} from 'node:crypto'
import test from 'ava'
import {askToken, authorise, callWith, client, exchange, openCrm, redirectUri, refresh, request} from './crm-caller.ts'

const authPath = `/oauth/v2/auth?response_type=code&client_id=1000.LADING&redirect_uri=${encodeURIComponent(redirectUri)}`

test('allowing redirects back with code, state, location and accounts server', async t => {
  const {crm} = await openCrm(t)
  const back = await authorise(crm)
  t.is(back.origin + back.pathname, redirectUri)
  t.is(back.searchParams.get('state'), 'the state')
  t.regex(back.searchParams.get('code') ?? '', /^1000\./)
  t.is(back.searchParams.get('location'), 'us')
  t.is(back.searchParams.get('accounts-server'), crm.url)
})

test('denying redirects back with access_denied and the state', async t => {
  const {crm} = await openCrm(t)
  const back = await authorise(crm, {sim_decision: 'deny'})
  t.deepEqual(Object.fromEntries(back.searchParams), {state: 'the state', error: 'access_denied'})
})

test('without a decision a page offers every user and two buttons, and keeps the request', async t => {
  const {crm} = await openCrm(t)
  const {status, body, headers} = await request(`${crm.url}${authPath}&scope=ZohoCRM.org.READ&state=a%22b&login_hint=ben@example.org`)
  t.is(status, 200)
  t.regex(headers.get('content-type') ?? '', /text\/html/)
  t.regex(body, /value="ben@example.org" selected/)
  t.regex(body, /zoe@other.example/)
  t.regex(body, /name="sim_decision" value="allow"/)
  t.regex(body, /name="sim_decision" value="deny"/)
  t.regex(body, /name="state" value="a&quot;b"/)
})

for (const [what, query] of [
  ['an unknown client', '&scope=ZohoCRM.org.READ&client_id=other'],
  ['a foreign redirect address', '&scope=ZohoCRM.org.READ&redirect_uri=https%3A%2F%2Fevil.example%2F'],
  ['another response type', '&scope=ZohoCRM.org.READ&response_type=token'],
  ['no scope', ''],
  ['an unknown scope', '&scope=everything'],
] as const) {
  test(`${what} gives an error page, never a redirect`, async t => {
    const {crm} = await openCrm(t)
    const url = new URL(`${crm.url}${authPath}&sim_user=ana@example.org&sim_decision=allow`)
    for (const [name, value] of new URLSearchParams(query)) url.searchParams.set(name, value)
    const {status, headers} = await request(url.href)
    t.is(status, 400)
    t.is(headers.get('location'), null)
    t.regex(headers.get('content-type') ?? '', /text\/html/)
  })
}

test('a registered redirect address is matched exactly', async t => {
  const {crm} = await openCrm(t)
  crm.addClient({clientId: 'strict', clientSecret: 's', redirectUris: [redirectUri]})
  const url = (uri: string) =>
    `${crm.url}/oauth/v2/auth?response_type=code&client_id=strict&scope=ZohoCRM.org.READ&sim_user=ana@example.org&sim_decision=allow&redirect_uri=${encodeURIComponent(uri)}`
  t.is((await request(url(redirectUri))).status, 302)
  t.is((await request(url(`${redirectUri}/`))).status, 400)
})

test('a code can be exchanged once, within two minutes', async t => {
  const {crm} = await openCrm(t)
  const code = (await authorise(crm)).searchParams.get('code') ?? ''
  const {status, body} = await exchange(crm, code)
  t.is(status, 200)
  t.like(body, {scope: 'ZohoCRM.modules.ALL ZohoCRM.org.READ', api_domain: crm.url, token_type: 'Bearer', expires_in: 3600})
  t.regex(body.access_token, /^1000\./)
  t.regex(body.refresh_token, /^1000\./)
  t.deepEqual((await exchange(crm, code)).body, {error: 'invalid_code'})
  const late = (await authorise(crm)).searchParams.get('code') ?? ''
  crm.clock.advance(121_000)
  t.like(await exchange(crm, late), {status: 200, body: {error: 'invalid_code'}})
})

test('the token endpoint accepts a query, a form and multipart', async t => {
  const {crm} = await openCrm(t)
  const form = async () => ({
    ...client,
    grant_type: 'authorization_code',
    redirect_uri: redirectUri,
    code: (await authorise(crm)).searchParams.get('code') ?? '',
  })
  const multipart = new FormData()
  for (const [name, value] of Object.entries(await form())) multipart.set(name, value)
  const replies = [
    await request(`${crm.url}/oauth/v2/token?${new URLSearchParams(await form())}`, {method: 'POST'}),
    await request(`${crm.url}/oauth/v2/token`, {method: 'POST', body: new URLSearchParams(await form())}),
    await request(`${crm.url}/oauth/v2/token`, {method: 'POST', body: multipart}),
  ]
  for (const {body} of replies) t.regex(body.access_token, /^1000\./)
})

test('client errors at the token endpoint have status 200, or 400 by a switch', async t => {
  const {crm} = await openCrm(t)
  t.like(await askToken(crm.url, {client_id: 'other'}), {status: 200, body: {error: 'invalid_client'}})
  t.like(await askToken(crm.url, {client_secret: 'wrong'}), {status: 200, body: {error: 'invalid_client'}})
  t.like(await askToken(crm.url, {grant_type: 'password'}), {status: 200, body: {error: 'general_error'}})
  const code = (await authorise(crm)).searchParams.get('code') ?? ''
  t.like(await exchange(crm, code, {redirect_uri: 'http://127.0.0.1:9/other'}), {status: 200, body: {error: 'invalid_redirect_uri'}})
  crm.setSwitches({tokenErrorStatus: 400})
  t.like(await exchange(crm, 'unknown'), {status: 400, body: {error: 'invalid_code'}})
})

test('a code challenge needs its verifier', async t => {
  const {crm} = await openCrm(t)
  const verifier = 'a verifier of some length, as it should be, longer than forty-three'
  const code_challenge = createHash('sha256').update(verifier).digest('base64url')
  const ask = async () => (await authorise(crm, {code_challenge, code_challenge_method: 'S256'})).searchParams.get('code') ?? ''
  t.regex((await exchange(crm, await ask(), {code_verifier: verifier})).body.access_token, /^1000\./)
  t.is((await exchange(crm, await ask(), {code_verifier: 'other'})).body.error, 'invalid_code')
  t.is((await exchange(crm, await ask())).body.error, 'invalid_code')
})

test('a refresh token is issued only at the first offline consent and with prompt=consent', async t => {
  const {crm} = await openCrm(t)
  const has = async (more: Record<string, string>) => {
    const code = (await authorise(crm, {sim_user: 'eva@example.org', ...more})).searchParams.get('code') ?? ''
    return 'refresh_token' in (await exchange(crm, code)).body
  }
  t.false(await has({access_type: 'online'}))
  t.true(await has({prompt: ''}))
  t.false(await has({prompt: ''}))
  t.true(await has({prompt: 'consent'}))
})

test('a refresh returns an access token and no new refresh token', async t => {
  const {crm} = await openCrm(t)
  const {refreshToken} = crm.grant({email: 'ana@example.org'})
  const {body} = await refresh(crm, refreshToken)
  t.false('refresh_token' in body)
  t.is((await callWith(crm.url, body.access_token)('GET', 'org')).status, 200)
})

test('the eleventh refresh in ten minutes is Access Denied until the first is ten minutes old', async t => {
  const {crm} = await openCrm(t)
  const {refreshToken} = crm.grant({email: 'ana@example.org'})
  for (let mint = 0; mint < 10; mint++) {
    t.is((await refresh(crm, refreshToken)).status, 200)
    crm.clock.advance(1000)
  }
  const {status, body, headers} = await refresh(crm, refreshToken)
  t.is(status, 400)
  t.like(body, {error: 'Access Denied', status: 'failure'})
  t.is(headers.get('retry-after'), null)
  crm.clock.advance(590_000)
  t.regex((await refresh(crm, refreshToken)).body.access_token, /^1000\./)
  t.is((await refresh(crm, refreshToken)).status, 400)
})

test('the twenty-first refresh token of a user silently invalidates the oldest', async t => {
  const {crm} = await openCrm(t)
  const grants = Array.from({length: 21}, () => crm.grant({email: 'ana@example.org'}))
  t.deepEqual((await refresh(crm, grants[0]!.refreshToken)).body, {error: 'invalid_code'})
  t.regex((await refresh(crm, grants[1]!.refreshToken)).body.access_token, /^1000\./)
  t.is((await callWith(crm.url, grants[0]!.accessToken)('GET', 'org')).status, 200)
})

test('a revoked refresh token and its access tokens are invalid', async t => {
  const {crm} = await openCrm(t)
  const {accessToken, refreshToken} = crm.grant({email: 'ana@example.org'})
  t.like(await request(`${crm.url}/oauth/v2/token/revoke?token=${refreshToken}`, {method: 'POST'}), {
    status: 200,
    body: {status: 'success'},
  })
  t.deepEqual((await refresh(crm, refreshToken)).body, {error: 'invalid_code'})
  t.like(await callWith(crm.url, accessToken)('GET', 'org'), {status: 401, body: {code: 'INVALID_TOKEN'}})
})

test('an access token is valid for an hour, or shorter by a switch', async t => {
  const {crm} = await openCrm(t)
  const {accessToken, refreshToken} = crm.grant({email: 'ana@example.org'})
  const call = callWith(crm.url, accessToken)
  crm.clock.advance(3_599_000)
  t.is((await call('GET', 'org')).status, 200)
  crm.clock.advance(1000)
  t.like(await call('GET', 'org'), {status: 401, body: {code: 'INVALID_TOKEN', details: {}, status: 'error'}})
  crm.setSwitches({liveAccessTokens: 1})
  const first = await refresh(crm, refreshToken)
  await refresh(crm, refreshToken)
  t.is((await callWith(crm.url, first.body.access_token)('GET', 'org')).status, 401)
})

test('a call without a usable token is AUTHENTICATION_FAILURE, and without its scope OAUTH_SCOPE_MISMATCH', async t => {
  const {crm} = await openCrm(t)
  t.like(await request(`${crm.url}/crm/v8/org`), {status: 401, body: {code: 'AUTHENTICATION_FAILURE', details: {}}})
  t.like(await callWith(crm.url, 'garbage')('GET', 'org'), {status: 401, body: {code: 'AUTHENTICATION_FAILURE'}})
  t.like(await callWith(crm.url, '1000.dead.token')('GET', 'org'), {status: 401, body: {code: 'INVALID_TOKEN'}})
  const narrow = crm.grant({email: 'ana@example.org', scopes: ['ZohoCRM.modules.accounts.READ', 'ZohoCRM.coql.READ']})
  const call = callWith(crm.url, narrow.accessToken)
  const statuses = async (paths: [string, string][]) =>
    Promise.all(paths.map(async ([method, path]) => (await call(method, path)).body?.code))
  t.deepEqual(
    await statuses([
      ['GET', 'org'],
      ['GET', 'settings/fields?module=Leads'],
      ['GET', 'Leads?fields=id'],
      ['POST', 'Accounts'],
      ['GET', 'Accounts/search?word=ab'],
    ]),
    Array(5).fill('OAUTH_SCOPE_MISMATCH'),
  )
  t.is((await call('GET', 'Accounts?fields=Account_Name')).status, 204)
  t.is((await call('POST', 'coql', {select_query: 'select id from Accounts where id is not null'})).status, 204)
})

test('bulk writes need the scope CREATE, and bulk reads the scope READ', async t => {
  const {crm} = await openCrm(t)
  const codes = async (scope: string) => {
    const {accessToken} = crm.grant({email: 'ana@example.org', scopes: ['ZohoCRM.modules.ALL', scope]})
    const call = callWith(crm.url, accessToken)
    const replies = [
      await call('GET', '/crm/bulk/v8/read/1'),
      await call('POST', '/crm/bulk/v8/write', {}, {'content-type': 'application/json'}),
      await call('GET', '/crm/bulk/v8/write/1'),
    ]
    return replies.map(({body}) => body?.code === 'OAUTH_SCOPE_MISMATCH')
  }
  t.deepEqual(await codes('ZohoCRM.bulk.READ'), [false, true, true])
  t.deepEqual(await codes('ZohoCRM.bulk.CREATE'), [true, false, false])
})

test('the scheme Bearer is accepted, and the user info has a numeric ZUID', async t => {
  const {crm} = await openCrm(t)
  const {accessToken} = crm.grant({email: 'ana@example.org', scopes: ['AaaServer.profile.READ']})
  const {body} = await request(`${crm.url}/oauth/user/info`, {headers: {authorization: `Bearer ${accessToken}`}})
  t.like(body, {First_Name: 'Ana', Last_Name: 'Ruiz', Display_Name: 'Ana Ruiz', Email: 'ana@example.org'})
  t.is(typeof body.ZUID, 'number')
  const {accessToken: narrow} = crm.grant({email: 'ana@example.org', scopes: ['ZohoCRM.org.READ']})
  const refused = await request(`${crm.url}/oauth/user/info`, {headers: {authorization: `Bearer ${narrow}`}})
  t.like(refused, {status: 401, body: {code: 'OAUTH_SCOPE_MISMATCH'}})
})

test('a code of another data centre can be exchanged only there, possibly with another secret', async t => {
  const {crm} = await openCrm(t)
  crm.addClient({clientId: 'multi', clientSecret: 'for us', secrets: {eu: 'for eu'}, redirectUris: 'any-loopback'})
  const ask = async () => {
    const back = await authorise(crm, {client_id: 'multi', sim_user: 'kim@eu.example'})
    t.is(back.searchParams.get('location'), 'eu')
    return {code: back.searchParams.get('code') ?? '', server: back.searchParams.get('accounts-server') ?? ''}
  }
  const multi = {client_id: 'multi', client_secret: 'for us'}
  t.is((await exchange(crm, (await ask()).code, multi)).body.error, 'invalid_code')
  const {code, server} = await ask()
  t.is(server, `${crm.url}/dc/eu`)
  t.is((await exchange(crm, code, multi, server)).body.error, 'invalid_client')
  const {body} = await exchange(crm, code, {client_id: 'multi', client_secret: 'for eu'}, server)
  t.is(body.api_domain, server)
  t.is((await callWith(body.api_domain, body.access_token)('GET', 'org')).body.org[0].company_name, 'Nordwind Oy')
  t.is((await callWith(crm.url, body.access_token)('GET', 'org')).body.code, 'INVALID_TOKEN')
})

test('the OpenID configuration has the endpoints of the requested host', async t => {
  const {crm} = await openCrm(t)
  const {body} = await request(`${crm.url}/dc/eu/.well-known/openid-configuration`)
  t.is(body.token_endpoint, `${crm.url}/dc/eu/oauth/v2/token`)
  t.deepEqual(body.code_challenge_methods_supported, ['S256'])
  t.deepEqual((await request(`${crm.url}/oauth/serverinfo`)).body.locations, {us: crm.url, eu: `${crm.url}/dc/eu`})
})
