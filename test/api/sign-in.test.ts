import test from 'ava'
import {z} from 'zod'
import {listChanges} from '../../sql/changes.ts'
import {sql} from '../../sql/database.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {beginVisit, comeBack, consent} from '../support/walk.ts'

let house: TestDeployment
const widget = 'https://widget.example.org'

test.before(async t => {
  house = await startTestDeployment(t, {environment: {RETURN_ORIGINS: widget}})
})

let orgs = 0
/** Creates a CRM org. Its first user is an administrator. */
const newCrmOrg = (names: string[]) => {
  const key = `org${++orgs}`
  const users = names.map((name, index) => ({
    email: `${name}@${key}.example`,
    firstName: name,
    lastName: 'Test',
    profile: index === 0 ? 'Administrator' : 'Standard',
  }))
  const numbers = {prefix: String(8_800_000 + orgs), zgid: String(30_000 + orgs), licences: 5}
  house.crm.addOrg({key, companyName: `Company ${key}`, edition: 'enterprise', users, modules: [], ...numbers})
  return {key, emails: users.map(({email}) => email)}
}

/** Lists the role changes by sign-ins among the org's newest 50 changes, oldest first. The author of each is the person who signed in. */
const rolesRecorded = async (org: string) =>
  (await listChanges(house.db, {org, limit: 50}))
    .filter(
      ({page, subject, via, target, userName}) =>
        page === 'members' && subject === 'member.role' && via === 'session' && target === userName,
    )
    .map(({target, before, after}) => [target, before, after])
    .toReversed()

const whoIs = async (token: string) => (await house.as(token)('GET', '/auth/me')).body
const walkTo = (user: string, query = {}) =>
  beginVisit(house.as(null), query).then(async visit => ({visit, back: await consent(visit, {user})}))

test('the first person of a CRM org who signs in becomes its owner', async t => {
  const {key, emails} = newCrmOrg(['ana'])
  const me = await whoIs(await house.signIn(emails[0]))
  t.like(me, {role: 'owner', via: 'session', user: {email: emails[0], name: 'ana Test'}, org: {name: `Company ${key}`}})
  t.regex(me.org.id, /^org_/)
})

test('a later person becomes admin with the Administrator profile, and operator with any other', async t => {
  const {key, emails} = newCrmOrg(['ana', 'ben', 'eva'])
  const owner = await whoIs(await house.signIn(emails[1]))
  t.is(owner.role, 'owner')
  t.is((await whoIs(await house.signIn(emails[0]))).role, 'admin')
  const operator = await whoIs(await house.signIn(emails[2]))
  t.like(operator, {role: 'operator', org: owner.org})
  house.crm.addUser(key, {email: emails[2]!, firstName: 'eva', lastName: 'Test', profile: 'Administrator'})
  t.is((await whoIs(await house.signIn(emails[2]))).role, 'admin', 'as the CRM says today')
  t.is((await whoIs(await house.signIn(emails[1]))).role, 'owner', 'an owner stays one')
  t.deepEqual(await rolesRecorded(owner.org.id), [
    ['ben Test', null, 'owner'],
    ['ana Test', null, 'admin'],
    ['eva Test', null, 'operator'],
    ['eva Test', 'operator', 'admin'],
  ])
})

test('a refresh applies a role change of the CRM, if the org is connected to it', async t => {
  const {key, emails} = newCrmOrg(['ana', 'ben'])
  const owner = await house.signIn(emails[0])
  const ben = await house.signIn(emails[1])
  const refresh = async (token: string) => (await house.as(token)('POST', '/auth/session/refresh')).body.token
  house.crm.addUser(key, {email: emails[1]!, firstName: 'ben', lastName: 'Test', profile: 'Administrator'})
  t.is((await whoIs(await refresh(ben))).role, 'operator', 'nobody can ask the CRM yet')
  await house.connect(owner, {user: emails[0]!})
  t.is((await whoIs(await refresh(ben))).role, 'admin')
  house.crm.addUser(key, {email: emails[1]!, firstName: 'ben', lastName: 'Test', profile: 'Standard'})
  house.crm.faults.add({match: {path: '/crm/v8/users', org: key}, times: 1, action: 'status5xxBefore'})
  t.is((await whoIs(await refresh(ben))).role, 'admin', 'a CRM that does not say takes nothing')
  t.is((await whoIs(await refresh(ben))).role, 'operator')
  t.is((await whoIs(await refresh(owner))).role, 'owner')
  t.deepEqual((await rolesRecorded((await whoIs(owner)).org.id)).slice(2), [
    ['ben Test', 'operator', 'admin'],
    ['ben Test', 'admin', 'operator'],
  ])
})

test('an org that does not follow CRM roles keeps its own', async t => {
  const {emails} = newCrmOrg(['ana', 'ben', 'eva'])
  const {org} = await whoIs(await house.signIn(emails[1]))
  await house.db.query(sql.unsafe`update orgs set follows_crm_roles = false where id = ${org.id}`)
  const {user, role} = await whoIs(await house.signIn(emails[0]))
  t.is(role, 'operator')
  await house.db.query(sql.unsafe`update members set role = 'builder' where person_id = ${user.id}`)
  t.is((await whoIs(await house.signIn(emails[0]))).role, 'builder')
})

test('concurrent first sign-ins make one org with exactly one owner', async t => {
  const {emails} = newCrmOrg(['a', 'b', 'c', 'd', 'e', 'f'])
  const tokens = await Promise.all(emails.map(email => house.signIn(email)))
  const people = await Promise.all(tokens.map(whoIs))
  t.is(people.filter(({role}) => role === 'owner').length, 1)
  t.is(new Set(people.map(({org}) => org.id)).size, 1)
  t.is(new Set(people.map(({user}) => user.id)).size, emails.length)
})

test('the page sends the token only to the origin where the sign-in began', async t => {
  const {visit, back} = await walkTo('ana@example.org', {return: `${widget}/some/page`})
  const {status, text, headers} = await comeBack(house.as(null), back, visit.cookie)
  t.is(status, 200)
  t.true(text.includes(`<script type="application/json" id="origin">"${widget}"</script>`))
  t.false(text.includes("'*'"))
  t.is(headers.get('cache-control'), 'no-store')
  t.is(headers.get('referrer-policy'), 'no-referrer')
  const [, nonce] = /script-src 'nonce-([^']+)'/.exec(headers.get('content-security-policy')!)!
  t.true(text.includes(`<script nonce="${nonce}">`))
  t.regex(headers.get('content-security-policy')!, /^default-src 'none'/)
})

test('the sign-in is protected by PKCE, a signed state and a cookie that scripts cannot read', async t => {
  const {status, headers} = await house.as(null)('GET', '/auth/zoho/start?dc=local')
  t.is(status, 302)
  t.is(headers.get('cache-control'), 'no-store')
  t.regex(headers.get('set-cookie')!, /^lading-sign-in=[\w-]{43}; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/)
  const {origin, searchParams} = new URL(headers.get('location')!)
  t.is(origin, house.crm.url)
  t.is(searchParams.get('code_challenge_method'), 'S256')
  t.is(searchParams.get('redirect_uri'), `${house.url}/auth/zoho/callback`)
  t.is(searchParams.get('access_type'), 'online')
  t.is(searchParams.get('scope'), 'AaaServer.profile.READ,ZohoCRM.users.READ,ZohoCRM.org.READ,ZohoCRM.settings.profiles.READ')
})

test('over https the sign-in cookie is Secure and bound to the host', async t => {
  const safe = await startTestDeployment(t, {environment: {PUBLIC_URL: 'https://lading.example.org'}})
  const {headers} = await safe.as(null)('GET', '/auth/zoho/start?dc=local')
  t.regex(headers.get('set-cookie')!, /^__Host-lading-sign-in=.*; Path=\/; .*; Secure$/)
})

test('an unlisted return origin is refused before the sign-in begins', async t => {
  for (const given of ['https://evil.example', `${widget}.evil.example`, 'javascript:alert(1)', '*', 'null']) {
    const {status, body} = await house.as(null)('GET', `/auth/zoho/start?dc=local&return=${encodeURIComponent(given)}`)
    t.like({status, code: body.code}, {status: 400, code: 'RETURN_NOT_ALLOWED'}, given)
  }
})

test('an unknown data centre is refused with issues', async t => {
  const {status, body} = await house.as(null)('GET', '/auth/zoho/start?dc=mars')
  t.like({status, code: body.code}, {status: 400, code: 'INVALID'})
  t.deepEqual(body.issues[0].path, ['dc'])
})

const expired = {status: 400, code: 'SIGN_IN_EXPIRED'}
/** Calls the callback without `Accept: text/html`, so that a refusal is answered as JSON. */
const tryBack = async (back: string, cookie: string) => {
  const {status, body} = await house.as(null)('GET', back, undefined, {cookie})
  return {status, code: body.code}
}

test('a sign-in can be completed once', async t => {
  const {visit, back} = await walkTo('ana@example.org')
  t.is((await comeBack(house.as(null), back, visit.cookie)).status, 200)
  t.deepEqual(await tryBack(back, visit.cookie), expired)
})

test('of two concurrent returns of one sign-in one succeeds', async t => {
  const {visit, back} = await walkTo('ana@example.org')
  const both = await Promise.all([tryBack(back, visit.cookie), tryBack(back, visit.cookie)])
  t.deepEqual(both.map(({status}) => status).sort(), [200, 400])
})

test('a sign-in expires after ten minutes', async t => {
  const late = await startTestDeployment(t)
  const visit = await beginVisit(late.as(null))
  const back = await consent(visit)
  await late.ahead('9 minutes')
  const other = await beginVisit(late.as(null))
  const otherBack = await consent(other)
  await late.ahead('10 minutes 1 second')
  t.is((await comeBack(late.as(null), back, visit.cookie)).status, 400)
  t.is((await comeBack(late.as(null), otherBack, other.cookie)).status, 200)
})

test('another browser cannot finish a sign-in, and does not break it', async t => {
  const {visit, back} = await walkTo('ana@example.org')
  const other = await beginVisit(house.as(null))
  t.not(other.cookie, visit.cookie)
  t.deepEqual(await tryBack(back, other.cookie), expired)
  t.deepEqual(await tryBack(back, ''), expired)
  t.is((await comeBack(house.as(null), back, visit.cookie)).status, 200)
})

test('two windows of one browser can sign in at once', async t => {
  const first = await walkTo('ana@example.org')
  const answer = await house.as(null)('GET', '/auth/zoho/start?dc=local', undefined, {cookie: first.visit.cookie})
  t.true(answer.headers.get('set-cookie')!.startsWith(first.visit.cookie))
  const second = await consent({url: answer.headers.get('location')!, cookie: first.visit.cookie})
  t.is((await comeBack(house.as(null), second, first.visit.cookie)).status, 200)
  t.is((await comeBack(house.as(null), first.back, first.visit.cookie)).status, 200)
})

test('a state with a wrong signature is refused', async t => {
  const {visit, back} = await walkTo('ana@example.org')
  const url = new URL(back, house.url)
  const state = url.searchParams.get('state')!
  const session = await house.signIn()
  for (const wrong of ['', 'x', `${state}x`, state.split('.').slice(0, 2).join('.'), session]) {
    url.searchParams.set('state', wrong)
    t.deepEqual(await tryBack(url.pathname + url.search, visit.cookie), expired)
  }
  t.deepEqual(await tryBack('/auth/zoho/callback', visit.cookie), expired)
})

test('a sign-in state is not accepted as a bearer', async t => {
  const {visit, back} = await walkTo('ana@example.org')
  const state = new URL(back, house.url).searchParams.get('state')!
  t.is((await house.as(state)('GET', '/auth/me', undefined, {cookie: visit.cookie})).body.code, 'AUTH_REQUIRED')
})

test('a code is exchanged at the host that issued it, and only at known hosts', async t => {
  const {visit, back} = await walkTo('ana@example.org')
  for (const hostile of ['https://evil.example', `${house.crm.url}.evil.example`, `${house.crm.url}/dc/us/../x`, 'http://127.0.0.1:1']) {
    const begun = await walkTo('ana@example.org')
    const url = new URL(begun.back, house.url)
    url.searchParams.set('accounts-server', hostile)
    t.deepEqual(await tryBack(url.pathname + url.search, begun.visit.cookie), {status: 403, code: 'SIGN_IN_REFUSED'}, hostile)
  }
  t.is((await comeBack(house.as(null), back, visit.cookie)).status, 200)
})

test('a person of another data centre is signed in there', async t => {
  const {org, user} = await whoIs(await house.signIn('kim@eu.example'))
  t.is(org.name, 'Nordwind Oy')
  const subject = await house.db.oneFirst(sql.type(z.object({subject: z.string()}))`select subject from people where id = ${user.id}`)
  t.regex(subject, /^local-eu:\d+$/)
})

test('a person who denies access sees what to do, and the sign-in is used up', async t => {
  const visit = await beginVisit(house.as(null))
  const back = await consent(visit, {decision: 'deny'})
  const {status, text, headers} = await comeBack(house.as(null), back, visit.cookie)
  t.is(status, 403)
  t.is(headers.get('content-type'), 'text/html; charset=utf-8')
  t.regex(text, /You did not allow access/)
  t.false(text.includes('id="message"'))
  t.deepEqual(await tryBack(back, visit.cookie), expired)
})

test('the page shows nothing of an error from the provider', async t => {
  const {visit, back} = await walkTo('ana@example.org')
  const url = new URL(back, house.url)
  url.searchParams.set('error', '<script>alert(1)</script>')
  const {status, text} = await comeBack(house.as(null), url.pathname + url.search, visit.cookie)
  t.is(status, 403)
  t.false(text.includes('alert'))
})

test('a banned person gets no session', async t => {
  const {emails} = newCrmOrg(['ana'])
  const {user} = await whoIs(await house.signIn(emails[0]))
  await house.db.query(sql.unsafe`update people set banned_at = lading_now() where id = ${user.id}`)
  const {visit, back} = await walkTo(emails[0]!)
  t.deepEqual(await tryBack(back, visit.cookie), {status: 403, code: 'BANNED'})
})

test('an unfinished sign-in stores nothing; a finished one stores one row without its verifier', async t => {
  const own = await startTestDeployment(t)
  const rowsOf = async (table: string) =>
    (await own.hot.query(`select row_to_json(t)::text as row from ${table} t`)).rows.map(({row}) => row)
  const visits = []
  for (let n = 0; n < 3; n++) visits.push(await beginVisit(own.as(null)))
  const stored = async () => [...(await rowsOf('sign_ins')), ...(await rowsOf('used_sign_ins'))]
  t.deepEqual(await stored(), [])
  const [visit] = visits as [(typeof visits)[0]]
  const back = await consent(visit)
  t.is((await comeBack(own.as(null), back, visit.cookie)).status, 200)
  const rows = await stored()
  t.is(rows.length, 1)
  t.deepEqual(Object.keys(JSON.parse(rows[0]!)), ['id', 'expires_at'])
})

test('of five concurrent returns with one state exactly one signs in', async t => {
  const {visit, back} = await walkTo('ana@example.org')
  const answers = await Promise.all(Array.from({length: 5}, () => comeBack(house.as(null), back, visit.cookie)))
  t.deepEqual(answers.map(({status}) => status).toSorted(), [200, 400, 400, 400, 400])
})

test('the state reveals neither the secret of the browser nor its contents', async t => {
  const {visit, back} = await walkTo('ana@example.org', {return: widget})
  const state = new URL(back, house.url).searchParams.get('state')!
  const shown = state.split('.').map(part => Buffer.from(part, 'base64url').toString('latin1'))
  for (const hidden of [visit.cookie.split('=')[1]!, widget, 'verifier', 'sgn_'])
    t.false(
      [state, ...shown].some(part => part.includes(hidden)),
      hidden,
    )
})
