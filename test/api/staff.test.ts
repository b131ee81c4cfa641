import test from 'ava'
import {openSession} from '../../shared/accounts/session.ts'
import {warnOfStaffAddresses} from '../../shared/accounts/staff.ts'
import {newId} from '../../shared/ids.ts'
import {sql} from '../../sql/database.ts'
import {keepPerson} from '../../sql/people.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let house: TestDeployment
let operator: ReturnType<TestDeployment['as']>

test.before(async t => {
  house = await startTestDeployment(t)
  operator = house.as(house.adminToken)
})

const outcomeOf = ({status, body}: {status: number; body: {code?: string}}) => [status, body.code]
const whoIs = async (token: string) => (await house.as(token)('GET', '/auth/me')).body
const opensBackoffice = async (token: string) => outcomeOf(await house.as(token)('GET', '/staff/people'))
const admitted = [200, undefined]
const customer = [403, 'ADMIN_REQUIRED']

let orgs = 0
/** Creates a CRM org with these users as administrators, who can sign in. */
const newCrmOrg = (...names: string[]) => {
  const key = `staff${++orgs}`
  const users = names.map(name => ({email: `${name}@${key}.example`, firstName: name, lastName: 'Test', profile: 'Administrator'}))
  const numbers = {prefix: String(8_700_000 + orgs), zgid: String(40_000 + orgs), licences: 5}
  house.crm.addOrg({key, companyName: key, edition: 'enterprise', users, modules: [], ...numbers})
  return users.map(({email}) => email)
}

const accountOf = async (email: string) => (await operator('GET', `/staff/people/search?email=${email}`)).body.people[0].account

test('the operator makes a person staff, effective from their next request', async t => {
  const {token, person} = await house.makeOrg({email: 'Ira@Staff.example'})
  t.deepEqual(await opensBackoffice(token), customer)
  const {status, body} = await operator('POST', '/staff/people', {person, email: ' ira@staff.EXAMPLE '})
  t.is(status, 200)
  const account = await accountOf('ira@staff.example')
  t.deepEqual(body, {person: {id: person, account, email: 'Ira@Staff.example', name: 'Test Person', awaited: false}})
  t.deepEqual(await opensBackoffice(token), admitted)
  t.true((await whoIs(token)).staff)
  t.deepEqual((await operator('POST', '/staff/people', {person})).body, body, 'a second time changes nothing')
  t.deepEqual(outcomeOf(await operator('POST', '/staff/people', {person, email: 'other@staff.example'})), [404, 'NOT_FOUND'])
})

/** Returns the account of a user of `newCrmOrg` at the identity provider. It exists even before the first sign-in. */
const accountAt = (email: string) => {
  const [name, host] = email.split('@') as [string, string]
  const user = house.crm.addUser(host.split('.')[0]!, {email, firstName: name, lastName: 'Test', profile: 'Administrator'})
  return {dc: 'local', id: user.zuid}
}

test('an account not yet signed in can be made staff, and only its own person becomes staff', async t => {
  const [email, other] = newCrmOrg('ida', 'ivo') as [string, string]
  const account = accountAt(email)
  const {body} = await operator('POST', '/staff/people', {account})
  t.like(body.person, {account, email: null, name: null, awaited: true})
  t.is((await operator('POST', '/staff/people', {account})).body.person.id, body.person.id)
  t.false((await whoIs(await house.signIn(other))).staff)
  const token = await house.signIn(email)
  t.like(await whoIs(token), {staff: true, org: null, role: null, user: {email}})
  t.deepEqual(await opensBackoffice(token), admitted)
  const {people} = (await operator('GET', '/staff/people')).body
  const same = people.filter((one: {account: {id: string}}) => one.account?.id === account.id)
  t.is(same.length, 1, 'nobody else is waited for')
  t.like(same[0], {awaited: false, name: 'ida Test', email})
  t.is((await operator('POST', '/staff/people', {account})).body.person.id, same[0].id, 'a known account is its person')
})

test('the same account id in another data centre is another account', async t => {
  const [email] = newCrmOrg('ines') as [string]
  const {id} = accountAt(email)
  t.is((await operator('POST', '/staff/people', {account: {dc: 'eu', id}})).status, 200)
  t.false((await whoIs(await house.signIn(email))).staff)
  t.deepEqual(outcomeOf(await operator('POST', '/staff/people', {account: {dc: 'mars', id}})), [400, 'INVALID'])
})

test('an email address alone, or an entry of an older version, gives no staff access, and the API warns of such entries', async t => {
  const [email] = newCrmOrg('iris') as [string]
  const refused = await operator('POST', '/staff/people', {email})
  t.like(refused, {status: 409, body: {code: 'PERSON_AMBIGUOUS', people: []}})
  await house.db.query(sql.unsafe`insert into staff_addresses (id, email) values ('stf_old', ${email})`)
  const token = await house.signIn(email)
  const {staff, user} = await whoIs(token)
  t.false(staff)
  const named = await operator('POST', '/staff/people', {email})
  t.like(named, {status: 409, body: {people: [{id: user.id, name: 'iris Test'}]}})
  const {people} = (await operator('GET', '/staff/people')).body
  t.like(
    people.find((one: {id: string}) => one.id === 'stf_old'),
    {email, account: null, awaited: true},
  )
  const said: object[] = []
  const log = {...house.tools.log, warn: (...given: object[]) => said.push(given)} as unknown as typeof house.tools.log
  await warnOfStaffAddresses({db: house.db, log})
  t.is(said.length, 1)
  t.is((await operator('DELETE', '/staff/people/stf_old')).status, 200)
  await warnOfStaffAddresses({db: house.db, log})
  t.is(said.length, 1)
})

test('staff who sign in join no org, and keep earlier memberships', async t => {
  const [mia, kai] = newCrmOrg('mia', 'kai') as [string, string]
  const owner = await whoIs(await house.signIn(mia))
  await operator('POST', '/staff/people', {account: accountAt(kai)})
  t.like(await whoIs(await house.signIn(kai)), {staff: true, org: null})
  await operator('POST', '/staff/people', {account: accountAt(mia)})
  t.like(await whoIs(await house.signIn(mia)), {staff: true, org: owner.org, role: 'owner'})
})

test('an email address of several people needs the person’s id', async t => {
  const email = 'two@staff.example'
  const make = (subject: string) => keepPerson(house.db, {id: newId('per'), subject, email, name: subject})
  const first = await make('us:7')
  const second = await make('eu:7')
  const {status, body} = await operator('POST', '/staff/people', {email})
  t.like({status, code: body.code}, {status: 409, code: 'PERSON_AMBIGUOUS'})
  t.deepEqual(
    body.people,
    [first, second].map(({id, name}) => ({id, name})),
  )
  t.is((await operator('POST', '/staff/people', {email, person: second.id})).body.person.id, second.id)
  const found = (await operator('GET', `/staff/people/search?email=${email}`)).body.people
  t.deepEqual(
    found.map(({id, account, staff, orgs: places}: {id: string; account: object; staff: boolean; orgs: object[]}) => [
      id,
      account,
      staff,
      places,
    ]),
    [
      [first.id, {dc: 'us', id: '7'}, false, []],
      [second.id, {dc: 'eu', id: '7'}, true, []],
    ],
  )
  t.deepEqual(outcomeOf(await operator('POST', '/staff/people', {email, person: 'per_none'})), [404, 'NOT_FOUND'])
})

test('a person removed from staff loses the backoffice and every view at the next request', async t => {
  const {org} = await house.makeOrg()
  const {token, person} = await house.makeStaff()
  const view = await house.openView({org, by: token})
  t.is((await house.as(view)('GET', `/orgs/${org}/tokens`)).status, 200)
  t.is((await operator('DELETE', `/staff/people/${person}`)).status, 200)
  t.deepEqual(await opensBackoffice(token), customer)
  t.false((await whoIs(token)).staff)
  t.deepEqual(outcomeOf(await house.as(view)('GET', `/orgs/${org}/tokens`)), [401, 'AUTH_REQUIRED'])
  t.deepEqual(outcomeOf(await operator('DELETE', `/staff/people/${person}`)), [404, 'NOT_FOUND'])
  const {body} = await operator('POST', '/staff/people', {account: {dc: 'eu', id: '700'}})
  t.is((await operator('DELETE', `/staff/people/${body.person.id}`)).status, 200)
  const {people} = (await operator('GET', '/staff/people')).body
  t.false(people.some((one: {id: string}) => one.id === body.person.id || one.id === person))
})

test('a banned staff member is refused in the backoffice and in every view', async t => {
  const {org} = await house.makeOrg()
  const {token, person} = await house.makeStaff()
  const view = await house.openView({org, by: token})
  await operator('POST', `/staff/people/${person}/ban`, {reason: 'gone'})
  for (const bearer of [token, view]) t.deepEqual(outcomeOf(await house.as(bearer)('GET', '/auth/me')), [403, 'BANNED'])
  t.deepEqual(await opensBackoffice(token), [403, 'BANNED'])
})

test('staff can use the backoffice if their own org is deleted or closed or their membership ended', async t => {
  const {person, org, token, email} = {...(await house.makeOrg({email: 'lone@staff.example'})), email: 'lone@staff.example'}
  await operator('POST', '/staff/people', {email, person})
  await house.db.query(sql.unsafe`update orgs set closed_at = lading_now() where id = ${org}`)
  t.deepEqual(await opensBackoffice(token), admitted)
  await house.db.query(sql.unsafe`delete from members where person_id = ${person}`)
  t.deepEqual(await opensBackoffice(token), admitted)
  t.deepEqual(outcomeOf(await house.as(token)('GET', '/auth/me')), [401, 'MEMBERSHIP_GONE'])
  await house.db.query(sql.unsafe`delete from orgs where id = ${org}`)
  t.deepEqual(await opensBackoffice(token), admitted)
})

test('a session without an org of a person who is not staff is refused in the backoffice', async t => {
  const {person} = await house.makeOrg()
  const token = await openSession(house.db, house.config, {person, org: null, role: null})
  t.deepEqual(await opensBackoffice(token), customer)
})
