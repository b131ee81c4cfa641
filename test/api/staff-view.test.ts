import {createServer} from 'node:http'
import type {AddressInfo} from 'node:net'
import test, {type ExecutionContext} from 'ava'
import {createApp} from '../../api/app.ts'
import {effectOf, type Route, route} from '../../api/route.ts'
import {routes} from '../../api/routes.ts'
import {sql} from '../../sql/database.ts'
import {openCalls} from '../support/client.ts'
import {leadsTemplate} from '../support/templates.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let house: TestDeployment
let operator: ReturnType<TestDeployment['as']>

test.before(async t => {
  house = await startTestDeployment(t)
  operator = house.as(house.adminToken)
})

const outcomeOf = ({status, body}: {status: number; body: {code?: string}}) => [status, body.code]
const actionsOn = async (org: string) => (await operator('GET', `/staff/actions?org=${org}`)).body.actions
const admitted = [200, undefined]
const customer = [403, 'ADMIN_REQUIRED']

test('a staff view lasts an hour in one org as its admin, and /auth/me shows it', async t => {
  const own = await startTestDeployment(t)
  const {org} = await own.makeOrg()
  const other = await own.makeOrg()
  const {token, person} = await own.makeStaff()
  const {status, body} = await own.as(token)('POST', `/staff/orgs/${org}/view`, {write: true, reason: ' ticket 7 '})
  t.is(status, 201)
  t.deepEqual(Object.keys(body).sort(), ['expiresAt', 'token'])
  const lasts = Date.parse(body.expiresAt) - Date.now()
  t.true(lasts > 59 * 60_000 && lasts <= 60 * 60_000, `${lasts} ms`)
  const view = own.as(body.token)
  const me = (await view('GET', '/auth/me')).body
  t.like(me, {via: 'session', role: 'admin', org: {id: org}, user: {id: person}, staff: false, staffView: {write: true}})
  t.is((await own.as(await own.openView({org, by: token}))('GET', '/auth/me')).body.staffView.write, false, 'for reading unless asked')
  t.deepEqual(outcomeOf(await view('GET', `/orgs/${other.org}/tokens`)), [403, 'OTHER_ORG'])
  t.deepEqual(outcomeOf(await view('GET', '/staff/people')), [403, 'ADMIN_REQUIRED'])
  t.like((await own.as(other.token)('GET', '/auth/me')).body, {staff: false, staffView: null})
  await own.ahead('61 minutes')
  t.deepEqual(outcomeOf(await view('GET', '/auth/me')), [401, 'AUTH_REQUIRED'])
})

test('a staff view needs a staff session, a reason and an existing org', async t => {
  const {org, token: owner} = await house.makeOrg()
  const {token} = await house.makeStaff()
  const ask = (bearer: string, id: string, body: object) => house.as(bearer)('POST', `/staff/orgs/${id}/view`, body)
  t.deepEqual(outcomeOf(await ask(house.adminToken, org, {reason: 'x'})), [403, 'SESSION_REQUIRED'])
  t.deepEqual(outcomeOf(await ask(owner, org, {reason: 'x'})), customer)
  for (const body of [{}, {reason: ''}, {reason: '  '}, {reason: 'x', write: 'yes'}])
    t.deepEqual(outcomeOf(await ask(token, org, body)), [400, 'INVALID'], JSON.stringify(body))
  t.deepEqual(outcomeOf(await ask(token, 'org_none', {reason: 'x'})), [404, 'NOT_FOUND'])
  t.deepEqual(await actionsOn(org), [])
})

/** Calls a route with a body that no schema accepts, so only a check of access can refuse the request before the body. */
const knock = (bearer: string, {method, path}: Route, org: string) =>
  house.as(bearer)(
    method.toUpperCase(),
    path.replace('/:org', `/${org}`).replaceAll(/:\w+/g, 'none'),
    method === 'get' ? undefined : '{no',
    {
      'content-type': 'application/json',
    },
  )
const GATES = ['STAFF_VIEW', 'IMPERSONATION_READ_ONLY', 'IMPERSONATION_REFUSED', 'ROLE_REQUIRED', 'AUTH_REQUIRED', 'ORG_CLOSED', 'INTERNAL']

/** Returns the refusal that a staff view must get, or undefined. The refusal follows from the declaration of the route. */
const refusalOf = (one: Route, write: boolean): string | undefined => {
  const {access} = one
  if (!('role' in access)) return undefined
  if (access.sessionOnly === 'person') return 'STAFF_VIEW'
  if (effectOf(one) !== 'read' && !write) return 'IMPERSONATION_READ_ONLY'
  if (['money', 'publisher', 'access'].includes(effectOf(one))) return 'IMPERSONATION_REFUSED'
  return access.role === 'owner' ? 'ROLE_REQUIRED' : undefined
}

for (const write of [false, true]) {
  test(`every route answers a ${write ? 'write' : 'read-only'} view as the specification says`, async t => {
    const {org} = await house.makeOrg()
    const view = await house.openView({org, write})
    const asked = routes.filter(({access}) => 'role' in access)
    t.plan(asked.length)
    for (const one of asked) {
      const {body, text} = await knock(view, one, org)
      const told = GATES.includes(body.code) ? body.code : undefined
      t.is(told, refusalOf(one, write), `${one.method} ${one.path}: ${text}`)
    }
  })
}

test('the routes that act for a person are refresh, sign-out, switching orgs, approvals, tokens, invitations and grants', t => {
  const person = routes
    .filter(({access}) => 'role' in access && access.sessionOnly === 'person')
    .map(({method, path}) => `${method} ${path}`)
  t.deepEqual(person.sort(), [
    'delete /auth/grants/:id',
    'delete /auth/session',
    'delete /auth/sessions',
    'delete /orgs/:org/tokens/:id',
    'get /auth/grants',
    'get /auth/orgs',
    'get /auth/sessions',
    'post /auth/invitations/:id/accept',
    'post /auth/session/refresh',
    'post /orgs/:org/imports/:id/runs/:run/approve',
    'post /orgs/:org/templates/:id/approve',
    'post /orgs/:org/tokens',
    'put /auth/session/org',
  ])
})

/** Serves the app with other routes. */
const serve = async (t: ExecutionContext, table: Route[]) => {
  const server = createServer(createApp(house.tools, {routes: table}).callback())
  await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening))
  t.teardown(() => server.close())
  return openCalls(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
}

const nothing = {operationId: 'doNothing', tag: 'Service', summary: 'Do nothing', answers: {}, refusals: []} as const

test('a view can use neither money nor publisher routes, whether it may write or not', async t => {
  const paid = route({
    ...nothing,
    method: 'post',
    path: '/orgs/:org/pay',
    access: {role: 'admin', sessionOnly: true},
    effect: 'money',
    handle: () => ({}),
  })
  const published = route({
    ...nothing,
    method: 'put',
    path: '/orgs/:org/hand',
    access: {role: 'admin'},
    effect: 'publisher',
    handle: () => ({}),
  })
  const unhanded = route({
    ...nothing,
    method: 'delete',
    path: '/orgs/:org/hand',
    access: {role: 'admin', sessionOnly: true},
    handle: () => ({}),
  })
  const as = await serve(t, [paid, published, unhanded])
  const {org, token} = await house.makeOrg()
  const read = as(await house.openView({org}))
  const write = as(await house.openView({org, write: true}))
  for (const [method, path, refused] of [
    ['POST', 'pay', [403, 'IMPERSONATION_REFUSED']],
    ['PUT', 'hand', [403, 'IMPERSONATION_REFUSED']],
    ['DELETE', 'hand', admitted],
  ] as const) {
    t.deepEqual(outcomeOf(await read(method, `/orgs/${org}/${path}`)), [403, 'IMPERSONATION_READ_ONLY'])
    t.deepEqual(outcomeOf(await write(method, `/orgs/${org}/${path}`)), [...refused])
    t.deepEqual(outcomeOf(await as(token)(method, `/orgs/${org}/${path}`)), admitted)
  }
})

test('a view of a closed org is refused as closed before any rule of views', async t => {
  const {org} = await house.makeOrg()
  const {token} = await house.makeStaff()
  const view = house.as(await house.openView({org, write: true, by: token}))
  await operator('POST', `/staff/orgs/${org}/close`, {reason: 'unpaid'})
  t.deepEqual(outcomeOf(await view('GET', `/orgs/${org}/tokens`)), [403, 'ORG_CLOSED'])
  t.deepEqual(outcomeOf(await view('POST', `/orgs/${org}/tokens`, {name: 'x'})), [403, 'ORG_CLOSED'])
  t.deepEqual(outcomeOf(await view('POST', '/auth/session/refresh')), [403, 'STAFF_VIEW'])
  t.is((await view('GET', '/auth/me')).status, 200)
  const again = await house.as(token)('POST', `/staff/orgs/${org}/view`, {reason: 'look'})
  t.deepEqual(outcomeOf(again), [403, 'ORG_CLOSED'])
})

test('a view whose org or person is deleted is refused with that reason', async t => {
  const gone = await house.makeOrg()
  const view = await house.openView({org: gone.org})
  await house.db.query(sql.unsafe`delete from orgs where id = ${gone.org}`)
  t.deepEqual(outcomeOf(await house.as(view)('GET', '/auth/me')), [401, 'ORG_NOT_FOUND'])
  const {org} = await house.makeOrg()
  const {token, person} = await house.makeStaff()
  const other = await house.openView({org, by: token})
  await house.db.query(sql.unsafe`delete from people where id = ${person}`)
  t.deepEqual(outcomeOf(await house.as(other)('GET', '/auth/me')), [401, 'MEMBERSHIP_GONE'])
  t.deepEqual(outcomeOf(await house.as(token)('GET', '/staff/people')), [401, 'MEMBERSHIP_GONE'])
})

test('every write in a view is recorded once with its author; reads and refusals are not', async t => {
  const {org} = await house.makeOrg()
  const {token, person, name, email} = await house.makeStaff()
  const view = house.as(await house.openView({org, write: true, by: token}))
  const path = `/orgs/${org}/templates`
  const asked = {'x-request-id': 'ticket-7'}
  const made = await view('POST', path, leadsTemplate(), asked)
  t.is(made.status, 201, made.text)
  await view('GET', path)
  t.is((await view('POST', path, {})).status, 400)
  t.is((await view('DELETE', `${path}/none`)).status, 404)
  t.is((await view('POST', `/orgs/${org}/invitations`, {email: 'new@example.org', role: 'operator'})).status, 403)
  t.is((await view('DELETE', `${path}/${made.body.template.id}`)).status, 200)
  const [removed, written, opened, ...rest] = await actionsOn(org)
  t.deepEqual(rest, [])
  t.like(opened, {kind: 'view', reason: 'A test looks', staff: {id: person, name, email}, org, person: null})
  t.like(opened.detail, {write: true, role: 'admin'})
  const route = '/orgs/:org/templates'
  t.like(written, {kind: 'write', staff: {id: person, name, email}, org, reason: null})
  const {request, ...detail} = written.detail
  t.regex(request, /^req_/)
  t.deepEqual(detail, {method: 'POST', route, callerRequest: 'ticket-7', session: opened.detail.session, role: 'admin', target: {}})
  t.like(removed.detail, {method: 'DELETE', route: `${route}/:id`, session: opened.detail.session, target: {id: made.body.template.id}})
  t.false('callerRequest' in removed.detail)
})

test('a write in a view that fails unexpectedly stays recorded', async t => {
  const failing = route({
    ...nothing,
    method: 'post',
    path: '/orgs/:org/fail',
    access: {role: 'admin'},
    handle: () => {
      throw new Error('half done')
    },
  })
  const as = await serve(t, [failing])
  const {org} = await house.makeOrg()
  const view = await house.openView({org, write: true})
  t.is((await as(view)('POST', `/orgs/${org}/fail`)).status, 500)
  t.like((await actionsOn(org))[0], {kind: 'write', detail: {route: '/orgs/:org/fail'}})
})

test('the own writes of a member who is staff are no staff actions', async t => {
  const {org, person, token} = await house.makeOrg()
  await operator('POST', '/staff/people', {person})
  t.is((await house.as(token)('POST', `/orgs/${org}/invitations`, {email: 'a@b.example', role: 'operator'})).status, 201)
  t.deepEqual(await actionsOn(org), [])
})

test('a write view cannot create access that outlives it', async t => {
  const {org, token: owner} = await house.makeOrg()
  const {token: staffToken, email} = await house.makeStaff()
  const view = house.as(await house.openView({org, write: true, by: staffToken}))
  const [{id: member}] = (await house.as(owner)('GET', `/orgs/${org}/members`)).body.members
  const {id: invitation} = (await house.as(owner)('POST', `/orgs/${org}/invitations`, {email: 'c@d.example', role: 'operator'})).body
    .invitation
  for (const [method, path, body] of [
    ['POST', `/orgs/${org}/invitations`, {email, role: 'admin'}],
    ['DELETE', `/orgs/${org}/invitations/${invitation}`],
    ['PATCH', `/orgs/${org}/members/${member}`, {role: 'admin'}],
    ['DELETE', `/orgs/${org}/members/${member}`],
    ['POST', `/auth/orgs/${org}/connect`, {dc: 'eu'}],
    ['POST', `/orgs/${org}/connectors`, {kind: 'generic', name: 'x', secret: 'y', document: {}}],
    ['POST', `/orgs/${org}/webhooks`, {url: 'https://staff.example.com/x'}],
    ['PATCH', `/orgs/${org}/webhooks/none`, {url: 'https://staff.example.com/x'}],
    ['POST', `/orgs/${org}/webhooks/none/secret`],
    ['DELETE', `/orgs/${org}/webhooks/none`],
    ['PUT', `/orgs/${org}/notices`, {emails: [], endpoints: [], on: []}],
  ] as const)
    t.deepEqual(outcomeOf(await view(method, path, body)), [403, 'IMPERSONATION_REFUSED'], `${method} ${path}`)
  for (const [method, path, body] of [
    ['POST', `/orgs/${org}/tokens`, {name: 'x'}],
    ['POST', `/auth/invitations/${invitation}/accept`],
    ['DELETE', '/auth/grants/none'],
  ] as const)
    t.deepEqual(outcomeOf(await view(method, path, body)), [403, 'STAFF_VIEW'], `${method} ${path}`)
  t.deepEqual((await house.as(staffToken)('GET', '/auth/invitations')).body.invitations, [])
  t.deepEqual(
    (await actionsOn(org)).map(({kind}: {kind: string}) => kind),
    ['view'],
  )
})

test('an action on a person records their id and their role in each org at that time', async t => {
  const {org, person} = await house.makeOrg()
  const {token} = await house.makeStaff()
  const newest = async () => (await operator('GET', '/staff/actions?limit=500')).body.actions.filter((one: any) => one.person === person)
  t.is((await house.as(token)('POST', `/staff/people/${person}/ban`, {reason: 'Taken over'})).status, 200)
  t.like((await newest())[0], {kind: 'ban', person, detail: {roles: {[org]: 'owner'}}})
  t.is((await operator('POST', `/staff/people/${person}/delete`, {force: true, reason: 'Asked for'})).status, 200)
  t.like((await newest())[0], {kind: 'person.delete', person, detail: {roles: {[org]: 'owner'}}})
})
