import test from 'ava'
import {z} from 'zod'
import {sql} from '../../sql/database.ts'
import {lockOrg} from '../../sql/orgs.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

let house: TestDeployment
test.before(async t => {
  house = await startTestDeployment(t)
})

/** Creates an org. `path`: the path of its tokens. `owner`: a call as its owner. */
const newOrg = async () => {
  const place = await house.makeOrg()
  return {...place, path: `/orgs/${place.org}/tokens`, owner: house.as(place.token)}
}

test('an admin creates a token and sees its secret once', async t => {
  const {owner, path, person} = await newOrg()
  const {status, body, headers} = await owner('POST', path, {name: ' ci '})
  t.is(status, 201)
  t.regex(body.secret, /^lading_[0-9A-Za-z]{49}$/)
  t.like(body.token, {name: 'ci', prefix: body.secret.slice(0, 11), expiresAt: null, revokedAt: null, lastUsedAt: null})
  t.deepEqual(body.token.createdBy, {id: person, name: 'Test Person'})
  t.is(headers.get('cache-control'), 'no-store')
  const listed = await owner('GET', path)
  t.deepEqual(listed.body, {tokens: [body.token]})
  t.false(listed.text.includes(body.secret))
})

test('the database stores a hash of a token and not its secret', async t => {
  const {owner, path, org} = await newOrg()
  const {secret} = (await owner('POST', path, {name: 'ci'})).body
  const row = await house.db.oneFirst(
    sql.type(z.object({row: z.string()}))`select row_to_json(api_tokens)::text as row from api_tokens where org_id = ${org}`,
  )
  t.false(row.includes(secret.slice(11)))
})

test('a token acts as its creator with the role of an admin', async t => {
  const {owner, path, org, person} = await newOrg()
  const {secret} = (await owner('POST', path, {name: 'ci'})).body
  t.like((await house.as(secret)('GET', '/auth/me')).body, {via: 'token', role: 'admin', org: {id: org}, user: {id: person}})
})

test('tokens are listed newest first, without those of other orgs', async t => {
  const {owner, path} = await newOrg()
  const other = await newOrg()
  await other.owner('POST', other.path, {name: 'theirs'})
  for (const name of ['one', 'two', 'three']) await owner('POST', path, {name})
  t.deepEqual(
    (await owner('GET', path)).body.tokens.map(({name}: {name: string}) => name),
    ['three', 'two', 'one'],
  )
})

test('a revoked token is refused on its next request, and revoking is idempotent', async t => {
  const {owner, path} = await newOrg()
  const {token, secret} = (await owner('POST', path, {name: 'ci'})).body
  t.is((await house.as(secret)('GET', '/auth/me')).status, 200)
  const first = await owner('DELETE', `${path}/${token.id}`)
  t.is(first.status, 200)
  t.truthy(first.body.token.revokedAt)
  const {status, body} = await house.as(secret)('GET', '/auth/me')
  t.like({status, code: body.code}, {status: 401, code: 'TOKEN_REVOKED'})
  const second = await owner('DELETE', `${path}/${token.id}`)
  t.is(second.body.token.revokedAt, first.body.token.revokedAt)
  t.is((await owner('GET', path)).body.tokens[0].revokedAt, first.body.token.revokedAt)
})

test('an admin who is demoted during the request gets no token', async t => {
  const {org, path} = await newOrg()
  const {token, person} = await house.makeOrg({org, role: 'admin'})
  const countWaiting = async () =>
    (await house.hot.query(`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`)).rowCount
  const asked = await house.db.transaction(async tx => {
    await lockOrg(tx, org)
    const sent = house.as(token)('POST', path, {name: 'ci'})
    await until(countWaiting, Boolean, 10)
    await tx.query(sql.unsafe`update members set role = 'operator' where org_id = ${org} and person_id = ${person}`)
    return [sent]
  })
  t.like(await asked[0], {status: 403, body: {code: 'ROLE_REQUIRED'}})
})

test('a token of another org cannot be revoked, and looks like an unknown one', async t => {
  const {owner, path} = await newOrg()
  const other = await newOrg()
  const {token, secret} = (await other.owner('POST', other.path, {name: 'theirs'})).body
  const foreign = await owner('DELETE', `${path}/${token.id}`)
  t.like({status: foreign.status, code: foreign.body.code}, {status: 404, code: 'NOT_FOUND'})
  t.deepEqual(foreign.body, (await owner('DELETE', `${path}/tok_none`)).body)
  t.is((await house.as(secret)('GET', '/auth/me')).status, 200)
})

test('a token expires by the clock of the database', async t => {
  const own = await startTestDeployment(t)
  const {token: session, org} = await own.makeOrg()
  const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
  const {body} = await own.as(session)('POST', `/orgs/${org}/tokens`, {name: 'ci', expiresAt})
  t.is(body.token.expiresAt, expiresAt)
  t.is((await own.as(body.secret)('GET', '/auth/me')).status, 200)
  await own.ahead('61 minutes')
  t.is((await own.as(body.secret)('GET', '/auth/me')).body.code, 'TOKEN_EXPIRED')
  const late = await own.as(session)('POST', `/orgs/${org}/tokens`, {name: 'ci', expiresAt})
  t.like(late, {status: 400, body: {code: 'INVALID', issues: [{path: ['expiresAt']}]}})
})

test('a token needs a name, and its expiry has to be in the future', async t => {
  const {owner, path} = await newOrg()
  for (const wrong of [{}, {name: ''}, {name: '  '}, {name: 7}, {name: 'x'.repeat(101)}]) {
    const {status, body} = await owner('POST', path, wrong)
    t.like({status, code: body.code}, {status: 400, code: 'INVALID'})
    t.is(body.issues[0].path[0], 'name', JSON.stringify(wrong))
  }
  for (const expiresAt of ['2020-01-01T00:00:00Z', 'tomorrow', 7, '0000-01-01T00:00:00Z', '9999-12-31T23:59:59-23:00']) {
    t.is((await owner('POST', path, {name: 'ci', expiresAt})).body.issues[0].path[0], 'expiresAt')
  }
  t.is((await owner('POST', path, {name: 'ci', expiresAt: null})).status, 201)
  const far = await owner('POST', path, {name: 'ci', expiresAt: '2100-01-01T12:00:00+23:00'})
  t.is(far.body.token.expiresAt, '2099-12-31T13:00:00.000Z', 'an offset that Postgres does not take')
})

test('the last use of a token is recorded at most once a minute', async t => {
  const own = await startTestDeployment(t)
  const {token, org} = await own.makeOrg()
  const owner = own.as(token)
  const {secret} = (await owner('POST', `/orgs/${org}/tokens`, {name: 'ci'})).body
  const lastUse = async () => (await owner('GET', `/orgs/${org}/tokens`)).body.tokens[0].lastUsedAt
  const use = () => own.as(secret)('GET', '/auth/me')
  await use()
  const first = await until(lastUse, at => at !== null)
  for (let n = 0; n < 5; n++) await use()
  t.is(await lastUse(), first)
  await own.ahead('61 seconds')
  await use()
  t.true((await until(lastUse, at => at !== first)) > first)
})

test('token names with control characters or line breaks are refused', async t => {
  const {org, token} = await house.makeOrg()
  for (const name of ['a\u001b[31mb', 'a\nb', 'a\u2028b', 'a\u0085b']) {
    const {status, body} = await house.as(token)('POST', `/orgs/${org}/tokens`, {name})
    t.like({status, code: body.code}, {status: 400, code: 'INVALID'}, JSON.stringify(name))
  }
})
