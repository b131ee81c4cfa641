import test from 'ava'
import {z} from 'zod'
import type {Role} from '../../shared/accounts/roles.ts'
import {newId} from '../../shared/ids.ts'
import {listChanges} from '../../sql/changes.ts'
import {sql} from '../../sql/database.ts'
import {keepMember, markInvited} from '../../sql/members.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let house: TestDeployment
test.before(async t => {
  house = await startTestDeployment(t)
})

const outcomeOf = ({status, body}: {status: number; body: {code?: string}}) => [status, body.code]

/** Creates a sandbox org and returns calls of its owner. `tie` links it to a production org. */
const newSandbox = async () => {
  const place = await house.makeOrg()
  await house.db.query(sql.unsafe`update orgs set sandbox = true where id = ${place.org}`)
  const call = house.as(place.token)
  const tie = (orgId: unknown) => call('PUT', `/orgs/${place.org}/production`, {orgId})
  const read = async () => (await call('GET', `/orgs/${place.org}`)).body.org
  return {...place, call, tie, read}
}

/** Creates a production org in which the person has the role by an invitation, or by a sign-in. */
const newProduction = async (person: string, role: Role = 'admin', {invited = true} = {}) => {
  const {org} = await house.makeOrg()
  await keepMember(house.db, {id: newId('mem'), org, person, role})
  if (invited) await house.db.transaction(tx => markInvited(tx, {org, person}))
  return org
}

const orgOf = async (token: string) => {
  const {org} = (await house.as(token)('GET', '/auth/me')).body
  return (await house.as(token)('GET', `/orgs/${org.id}`)).body.org
}

test('a member can read the properties of their org', async t => {
  const {org, token} = await house.makeOrg({role: 'operator'})
  const {status, body} = await house.as(token)('GET', `/orgs/${org}`)
  t.is(status, 200)
  const {createdAt, ...rest} = body.org
  t.regex(createdAt, /Z$/)
  t.deepEqual(rest, {id: org, name: 'Test Org', followsCrmRoles: true, sandbox: false, productionOrgId: null, closedAt: null})
})

test('a sign-in from a CRM sandbox leads to a sandbox org, regardless of the letter case of the CRM’s value', async t => {
  const users = [{email: 'pat@shouting.example', firstName: 'Pat', lastName: 'Test', profile: 'Administrator'}]
  const spec = {
    key: 'shouting',
    companyName: 'Shouting',
    prefix: '8899001',
    zgid: '39001',
    edition: 'enterprise',
    licences: 5,
    users,
  } as const
  house.crm.addOrg({...spec, users, modules: [], type: 'Sandbox' as 'sandbox'})
  t.like(await orgOf(await house.signIn('sam@sandbox.example')), {name: 'Example Ltd Sandbox', sandbox: true, productionOrgId: null})
  t.like(await orgOf(await house.signIn('pat@shouting.example')), {sandbox: true})
  t.like(await orgOf(await house.signIn('ana@example.org')), {sandbox: false})
})

test('the owner of a sandbox who accepts an invitation as production admin can link both orgs', async t => {
  const production = await house.makeOrg()
  const sam = await house.signIn('sam@sandbox.example')
  const sandbox = await orgOf(sam)
  const invited = await house.as(production.token)('POST', `/orgs/${production.org}/invitations`, {
    email: 'sam@sandbox.example',
    role: 'admin',
  })
  await house.as(sam)('POST', `/auth/invitations/${invited.body.invitation.id}/accept`)
  const again = house.as(await house.signIn('sam@sandbox.example'))
  const {status, body} = await again('PUT', `/orgs/${sandbox.id}/production`, {orgId: production.org})
  t.like({status, ...body.org}, {status: 200, id: sandbox.id, sandbox: true, productionOrgId: production.org})
})

test('linking, changing and unlinking a production org are recorded once each', async t => {
  const {org, person, tie, read} = await newSandbox()
  const [one, other] = [await newProduction(person), await newProduction(person, 'owner')]
  for (const target of [one, one, other, null, null]) {
    t.is((await tie(target)).status, 200)
    t.is((await read()).productionOrgId, target)
  }
  const changes = await listChanges(house.db, {org, limit: 50})
  t.deepEqual(
    changes.map(({before, after}) => [before, after]),
    [
      [other, null],
      [one, other],
      [null, one],
    ],
  )
  t.like(changes[0], {page: 'general', subject: 'org.production', target: null, via: 'session', userId: person, registryVersion: null})
})

test('an org that is no sandbox cannot be linked', async t => {
  const {org, person, token} = await house.makeOrg()
  const target = await newProduction(person)
  const answer = await house.as(token)('PUT', `/orgs/${org}/production`, {orgId: target})
  t.deepEqual(outcomeOf(answer), [409, 'NOT_A_SANDBOX'])
})

test('a production org without the owner as member looks like an unknown one', async t => {
  const {tie, read} = await newSandbox()
  const {org} = await house.makeOrg()
  const foreign = await tie(org)
  t.deepEqual(outcomeOf(foreign), [404, 'NOT_FOUND'])
  t.is(foreign.text, (await tie('org_none')).text)
  t.is((await read()).productionOrgId, null)
})

test('an org to which the session cannot switch does not pay for a sandbox', async t => {
  const {org, person, tie, read} = await newSandbox()
  const target = await newProduction(person, 'admin', {invited: false})
  t.deepEqual(outcomeOf(await tie(target)), [404, 'NOT_FOUND'])
  t.is((await read()).productionOrgId, null)
  await house.db.query(sql.unsafe`update sessions set home_org_id = ${target} where org_id = ${org}`)
  t.is((await tie(target)).status, 200, 'the CRM of the production org admitted the person at this sign-in')
})

test('a role below admin in the production org is not enough to link it', async t => {
  const {person, tie} = await newSandbox()
  for (const role of ['operator', 'builder'] as const) {
    t.deepEqual(outcomeOf(await tie(await newProduction(person, role))), [403, 'ROLE_REQUIRED'])
  }
})

test('a sandbox cannot be linked to a sandbox or to itself', async t => {
  const {org, person, tie} = await newSandbox()
  const target = await newProduction(person)
  await house.db.query(sql.unsafe`update orgs set sandbox = true where id = ${target}`)
  t.deepEqual(outcomeOf(await tie(target)), [409, 'NOT_PRODUCTION'])
  t.deepEqual(outcomeOf(await tie(org)), [409, 'NOT_PRODUCTION'])
})

test('a closed production org cannot be linked', async t => {
  const {person, tie} = await newSandbox()
  const target = await newProduction(person)
  await house.db.query(sql.unsafe`update orgs set closed_at = lading_now() where id = ${target}`)
  t.deepEqual(outcomeOf(await tie(target)), [409, 'ORG_CLOSED'])
})

test('an admin of the sandbox and an API token of its owner cannot link it', async t => {
  const {org, call, person} = await newSandbox()
  const orgId = await newProduction(person)
  const {secret} = (await call('POST', `/orgs/${org}/tokens`, {name: 'ci'})).body
  const {token} = await house.makeOrg({role: 'admin', org})
  for (const bearer of [secret, token]) {
    t.deepEqual(outcomeOf(await house.as(bearer)('PUT', `/orgs/${org}/production`, {orgId})), [403, 'ROLE_REQUIRED'])
  }
})

test('a link needs an org id or null', async t => {
  const {tie} = await newSandbox()
  for (const wrong of [undefined, 7, {}]) t.deepEqual(outcomeOf(await tie(wrong)), [400, 'INVALID'])
})

test('a sandbox becomes unlinked when its production org is deleted', async t => {
  const {person, tie, read} = await newSandbox()
  const target = await newProduction(person)
  await tie(target)
  await house.db.query(sql.unsafe`delete from orgs where id = ${target}`)
  t.like(await read(), {sandbox: true, productionOrgId: null})
})

test('a sandbox that the CRM now calls production is unlinked at the next sign-in', async t => {
  const own = await startTestDeployment(t)
  const signIn = async () => {
    const call = own.as(await own.signIn('sam@sandbox.example'))
    const {org} = (await call('GET', '/auth/me')).body
    return {org: (await call('GET', `/orgs/${org.id}`)).body.org}
  }
  const {org} = await signIn()
  const production = await own.makeOrg()
  await own.db.query(sql.unsafe`update orgs set sandbox_of = ${production.org} where id = ${org.id}`)
  t.is((await signIn()).org.productionOrgId, production.org)
  const body = {org: [{id: await crmOrgIdOf(own, org.id), company_name: 'Example Ltd', type: 'production'}]}
  own.crm.faults.add({match: {path: '/crm/v8/org'}, times: 1, action: {type: 'answer', status: 200, body}})
  t.like((await signIn()).org, {id: org.id, sandbox: false, productionOrgId: null})
})

const crmOrgIdOf = ({db}: TestDeployment, org: string) =>
  db.oneFirst(sql.type(z.object({id: z.string()}))`select crm_org_id as id from orgs where id = ${org}`)
