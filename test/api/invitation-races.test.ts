import {randomUUID} from 'node:crypto'
import test from 'ava'
import pg from 'pg'
import type {Role} from '../../shared/accounts/roles.ts'
import {openSession} from '../../shared/accounts/session.ts'
import {listChanges} from '../../sql/changes.ts'
import {sql} from '../../sql/database.ts'
import {listMembers} from '../../sql/members.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

let house: TestDeployment
test.before(async t => {
  house = await startTestDeployment(t)
})

const newInvited = async (role: Role = 'builder') => {
  const {org, token} = await house.makeOrg()
  const email = `${randomUUID()}@guests.example`
  const guest = await house.makeOrg({email})
  const invite = async (invited: Role = role) =>
    (await house.as(token)('POST', `/orgs/${org}/invitations`, {email, role: invited})).body.invitation.id as string
  const newSession = () => openSession(house.db, house.config, {person: guest.person, org: null, role: null})
  return {org, email, person: guest.person, owner: house.as(token), id: await invite(), invite, newSession}
}

const accept = (token: string, id: string) => house.as(token)('POST', `/auth/invitations/${id}/accept`)
const outcomeOf = ({status, body}: {status: number; body: {code?: string}}) => [status, body.code]
const membersOf = (org: string, person: string) =>
  listMembers(house.db, org).then(members => members.filter(({personId}) => personId === person))
const changesOf = async (org: string) => (await listChanges(house.db, {org, limit: 100})).filter(({subject}) => subject === 'member.role')
const orgOf = async (token: string) => (await house.as(token)('GET', '/auth/me')).body.org?.id ?? null
const rounds = [...Array(10).keys()]

test('of fifty concurrent accepts one wins, with one membership and one change; the others get INVITATION_USED', async t => {
  const {id, org, person, newSession} = await newInvited()
  const tokens = await Promise.all([...Array(50).keys()].map(newSession))
  const answers = await Promise.all(tokens.map(token => accept(token, id)))
  const won = tokens.filter((_, index) => answers[index]!.status === 200)
  t.is(won.length, 1)
  t.deepEqual(
    new Set(answers.filter(({status}) => status !== 200).map(answer => outcomeOf(answer).join())),
    new Set(['409,INVITATION_USED']),
  )
  t.is((await membersOf(org, person)).length, 1)
  t.is((await changesOf(org)).length, 1)
  for (const token of tokens) t.is(await orgOf(token), won.includes(token) ? org : null)
})

test('of two accounts with one address, one can use the invitation', async t => {
  for (const _ of rounds) {
    const {id, org, email, newSession} = await newInvited()
    const namesake = await house.makeOrg({email: email.toUpperCase()})
    const answers = await Promise.all([accept(await newSession(), id), accept(namesake.token, id)])
    t.deepEqual(answers.map(outcomeOf).sort(), [
      [200, undefined],
      [409, 'INVITATION_USED'],
    ])
    t.is((await listMembers(house.db, org)).length, 2)
  }
})

test('of a concurrent withdrawal and accept, exactly one succeeds', async t => {
  for (const _ of rounds) {
    const {id, org, person, owner, newSession} = await newInvited()
    const token = await newSession()
    const [accepted, withdrawn] = await Promise.all([accept(token, id), owner('DELETE', `/orgs/${org}/invitations/${id}`)])
    const outcome = [outcomeOf(accepted), outcomeOf(withdrawn)].join()
    t.true(['200,,409,INVITATION_USED', '409,INVITATION_WITHDRAWN,200,'].includes(outcome), outcome)
    t.is((await membersOf(org, person)).length, accepted.status === 200 ? 1 : 0)
  }
})

test('an invitation renewed while being accepted gives the role it was used with', async t => {
  for (const _ of [...rounds, ...rounds, ...rounds]) {
    const {id, org, person, owner, invite, newSession} = await newInvited('operator')
    const token = await newSession()
    const [{status, body}] = await Promise.all([accept(token, id), invite('admin')])
    t.is(status, 200)
    const {invitations} = (await owner('GET', `/orgs/${org}/invitations`)).body
    t.like(invitations.at(-1), {id, state: 'used', role: body.role})
    t.is((await membersOf(org, person))[0]!.role, body.role)
    t.is((await changesOf(org))[0]!.after, body.role)
  }
})

test('of two owners who accept a lower role at once, one stays owner', async t => {
  for (const _ of rounds) {
    const [one, other] = [`${randomUUID()}@owners.example`, `${randomUUID()}@owners.example`]
    const first = await house.makeOrg({email: one})
    const second = await house.makeOrg({email: other, org: first.org})
    const ids = []
    for (const email of [one, other]) {
      ids.push((await house.as(first.token)('POST', `/orgs/${first.org}/invitations`, {email, role: 'operator'})).body.invitation.id)
    }
    const answers = await Promise.all([accept(first.token, ids[0]), accept(second.token, ids[1])])
    t.deepEqual(answers.map(outcomeOf).sort(), [
      [200, undefined],
      [409, 'LAST_OWNER'],
    ])
    t.deepEqual((await listMembers(house.db, first.org)).map(({role}) => role).sort(), ['operator', 'owner'])
  }
})

test('a membership that keeps changing refuses the accept, and the invitation stays pending', async t => {
  const {org, email, invite, owner} = await newInvited('admin')
  const {token, person} = await house.makeOrg({email, org, role: 'operator'})
  const [member] = await membersOf(org, person)
  const rest = await keepChanging(member!.id)
  // An accept may succeed between two changes of the role. Then the loop needs another invitation.
  const refused = await until(
    async () => accept(token, await invite()),
    ({status}) => status !== 200,
  ).finally(rest)
  t.deepEqual(outcomeOf(refused), [409, 'MEMBERSHIP_CHANGING'])
  const {invitations} = (await owner('GET', `/orgs/${org}/invitations`)).body
  t.like(invitations[0], {email, state: 'pending', role: 'admin'})
  t.deepEqual((await accept(token, invitations[0].id)).body, {role: 'admin'})
  t.is((await membersOf(org, person))[0]!.role, 'admin')
})

/** Changes a member's role on another connection, as fast as the database allows. Returns a function that stops it. */
const keepChanging = async (member: string) => {
  const client = new pg.Client(house.config.DATABASE_URL)
  client.on('error', () => {})
  await client.connect()
  await client.query('set synchronous_commit = off')
  const [{pid}] = (await client.query('select pg_backend_pid() as pid')).rows
  const changing = client.query(`do $$ begin
    loop
      update members set role = case role when 'builder' then 'operator' else 'builder' end where id = '${member}';
      commit;
    end loop;
  end $$`)
  const ended = changing.catch(() => client.end())
  return async () => {
    await house.db.query(sql.unsafe`select pg_terminate_backend(${pid}::int)`)
    await ended
  }
}
