import {mkdtemp, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import test from 'ava'
import {type ApiProcess, startApiProcess} from '../support/api-process.ts'
import {openCalls} from '../support/client.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

let house: TestDeployment
let api: ApiProcess
let storage: string

test.before(async t => {
  house = await startTestDeployment(t)
  storage = await mkdtemp(join(tmpdir(), 'lading-access-log-'))
  const {DATABASE_URL, CRM_STANDIN_URL} = house.config
  const places = {DATABASE_URL: DATABASE_URL!, CRM_STANDIN_URL: CRM_STANDIN_URL!, STORAGE_DIR: storage}
  api = await startApiProcess({...places, ADMIN_TOKEN: house.adminToken, TRUSTED_PROXIES: '1'})
})
test.after.always(async () => {
  api.signal('SIGKILL')
  await api.exit
  await rm(storage, {recursive: true})
})

/** Finds the log line of one request by the request id in its response. */
const lineOf = async (headers: Headers) => {
  const id = headers.get('x-request-id')!
  const find = () =>
    api
      .output()
      .split('\n')
      .find(line => line.includes('"msg":"request"') && line.includes(`"request":"${id}"`))
  return JSON.parse((await until(find, line => line !== undefined))!)
}

const call = async (bearer: string | null, path: string, method = 'GET', body?: object) =>
  lineOf((await openCalls(api.url)(bearer)(method, path, body, {'x-forwarded-for': '9.9.9.9, 192.0.2.7'})).headers)

const nobody = {org: null, caller: null, personId: null, sessionId: null, tokenId: null, grantId: null}

test('the log line of a session request has org, person, session and client address', async t => {
  const {org, person, token} = await house.makeOrg()
  const line = await call(token, '/auth/me')
  t.like(line, {org, caller: 'session', personId: person, tokenId: null, grantId: null, address: '192.0.2.7', status: 200})
  t.regex(line.sessionId, /^ses_/)
})

test('the log line of an API token request has the token and the person it acts for, also after revocation', async t => {
  const {org, person, token} = await house.makeOrg()
  const made = (await house.as(token)('POST', `/orgs/${org}/tokens`, {name: 'pipeline'})).body
  const known = {org, caller: 'token', personId: person, sessionId: null, tokenId: made.token.id, address: '192.0.2.7'}
  t.like(await call(made.secret, '/auth/me'), {...known, status: 200})
  await house.as(token)('DELETE', `/orgs/${org}/tokens/${made.token.id}`)
  t.like(await call(made.secret, '/auth/me'), {...known, status: 401, code: 'TOKEN_REVOKED'})
})

test('the log line of a refused request names its caller and the org of its bearer', async t => {
  const {org, person, token} = await house.makeOrg({role: 'operator'})
  const other = await house.makeOrg()
  t.like(await call(token, `/orgs/${other.org}/members`), {org, personId: person, status: 403, code: 'OTHER_ORG', address: '192.0.2.7'})
  t.like(await call('unknown', '/auth/me'), {...nobody, status: 401, address: '192.0.2.7'})
  t.like(await call(null, '/robots.txt'), {...nobody, status: 200, address: '192.0.2.7'})
})

test('the log line of a backoffice request has the staff member; the operator has no name', async t => {
  const {person, token} = await house.makeStaff()
  const line = await call(token, '/staff/people')
  t.like(line, {org: null, caller: 'staff', personId: person, tokenId: null, status: 200})
  t.regex(line.sessionId, /^ses_/)
  t.like(await call(house.adminToken, '/staff/people'), {...nobody, caller: 'operator', status: 200, address: '192.0.2.7'})
})
