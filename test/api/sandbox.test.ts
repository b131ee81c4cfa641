import test from 'ava'
import {z} from 'zod'
import {newId} from '../../shared/ids.ts'
import type {Role} from '../../shared/people/roles.ts'
import {listChanges} from '../../sql/changes.ts'
import {sql} from '../../sql/database.ts'
import {keepMember} from '../../sql/members.ts'
import {type World, world} from '../world.ts'

let house: World
test.before(async t => {
  house = await world(t)
})

const outcomeOf = ({status, body}: {status: number; body: {code?: string}}) => [status, body.code]

/** A sandbox with its owner, who may tie it to a production org. */
const newSandbox = async () => {
  const place = await house.makeOrg()
  await house.db.query(sql.unsafe`update orgs set sandbox = true where id = ${place.org}`)
  const call = house.as(place.token)
  const tie = (orgId: unknown) => call('PUT', `/orgs/${place.org}/production`, {orgId})
  const read = async () => (await call('GET', `/orgs/${place.org}`)).body.org
  return {...place, call, tie, read}
}

/** A production org in which this person has this role. */
const newProduction = async (person: string, role: Role = 'admin') => {
  const {org} = await house.makeOrg()
  await keepMember(house.db, {id: newId('mem'), org, person, role})
  return org
}

const orgOf = async (token: string) => {
  const {org} = (await house.as(token)('GET', '/auth/me')).body
  return (await house.as(token)('GET', `/orgs/${org.id}`)).body.org
}

test('an org says what it is to its members', async t => {
  const {org, token} = await house.makeOrg({role: 'operator'})
  const {status, body} = await house.as(token)('GET', `/orgs/${org}`)
  t.is(status, 200)
  const {createdAt, ...rest} = body.org
  t.regex(createdAt, /Z$/)
  t.deepEqual(rest, {id: org, name: 'Test Org', followsCrmRoles: true, sandbox: false, productionOrgId: null, closedAt: null})
})

test('who signs in from a sandbox of the CRM is in a sandbox, whatever the case it is written in', async t => {
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

test('from sign-in to invitation to tie: the owner of a sandbox who is an admin of the production org', async t => {
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

test('a tie is replaced, loosed and written into the history, once each', async t => {
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

test('an org that is no sandbox is tied to nothing', async t => {
  const {org, person, token} = await house.makeOrg()
  const target = await newProduction(person)
  const answer = await house.as(token)('PUT', `/orgs/${org}/production`, {orgId: target})
  t.deepEqual(outcomeOf(answer), [409, 'NOT_A_SANDBOX'])
})

test('a production org the owner is not in cannot be told from none', async t => {
  const {tie, read} = await newSandbox()
  const {org} = await house.makeOrg()
  const foreign = await tie(org)
  t.deepEqual(outcomeOf(foreign), [404, 'NOT_FOUND'])
  t.is(foreign.text, (await tie('org_none')).text)
  t.is((await read()).productionOrgId, null)
})

test('less than an admin of the production org is not enough', async t => {
  const {person, tie} = await newSandbox()
  for (const role of ['operator', 'builder'] as const) {
    t.deepEqual(outcomeOf(await tie(await newProduction(person, role))), [403, 'ROLE_REQUIRED'])
  }
})

test('a sandbox does not pay for a sandbox, itself neither', async t => {
  const {org, person, tie} = await newSandbox()
  const target = await newProduction(person)
  await house.db.query(sql.unsafe`update orgs set sandbox = true where id = ${target}`)
  t.deepEqual(outcomeOf(await tie(target)), [409, 'NOT_PRODUCTION'])
  t.deepEqual(outcomeOf(await tie(org)), [409, 'NOT_PRODUCTION'])
})

test('a closed production org is tied to nothing new', async t => {
  const {person, tie} = await newSandbox()
  const target = await newProduction(person)
  await house.db.query(sql.unsafe`update orgs set closed_at = lading_now() where id = ${target}`)
  t.deepEqual(outcomeOf(await tie(target)), [409, 'ORG_CLOSED'])
})

test('neither an admin of the sandbox nor a token of its owner ties it', async t => {
  const {org, call, person} = await newSandbox()
  const orgId = await newProduction(person)
  const {secret} = (await call('POST', `/orgs/${org}/tokens`, {name: 'ci'})).body
  const {token} = await house.makeOrg({role: 'admin', org})
  for (const bearer of [secret, token]) {
    t.deepEqual(outcomeOf(await house.as(bearer)('PUT', `/orgs/${org}/production`, {orgId})), [403, 'ROLE_REQUIRED'])
  }
})

test('a tie names an org, or null', async t => {
  const {tie} = await newSandbox()
  for (const wrong of [undefined, 7, {}]) t.deepEqual(outcomeOf(await tie(wrong)), [400, 'INVALID'])
})

test('a sandbox is loose again when its production org is gone', async t => {
  const {person, tie, read} = await newSandbox()
  const target = await newProduction(person)
  await tie(target)
  await house.db.query(sql.unsafe`delete from orgs where id = ${target}`)
  t.like(await read(), {sandbox: true, productionOrgId: null})
})

test('what the CRM calls production from now on is loose at the next sign-in', async t => {
  const own = await world(t)
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

const crmOrgIdOf = ({db}: World, org: string) =>
  db.oneFirst(sql.type(z.object({id: z.string()}))`select crm_org_id as id from orgs where id = ${org}`)
