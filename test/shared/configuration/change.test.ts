import {globSync, readFileSync} from 'node:fs'
import test from 'ava'
import {mintSecret} from '../../../shared/accounts/token-secret.ts'
import {type Author, type Change, recordChanges} from '../../../shared/configuration/change.ts'
import {PAGES} from '../../../shared/configuration/pages.ts'
import {newId} from '../../../shared/ids.ts'
import {listChanges} from '../../../sql/changes.ts'
import {sql} from '../../../sql/database.ts'
import {insertToken} from '../../../sql/tokens.ts'
import {startTestDeployment, type TestDeployment} from '../../support/test-deployment.ts'

let house: TestDeployment
test.before(async t => {
  house = await startTestDeployment(t)
})

const timezone = {page: 'general', subject: 'settings.timezone', before: 'UTC', after: 'Europe/Berlin', registryVersion: 7}

const record = (author: Author, ...changes: Change[]) => house.db.transaction(tx => recordChanges(tx, author, changes))
const list = (org: string, limit = 50) => listChanges(house.db, {org, limit})

const newToken = (place: {org: string; person: string}) => {
  const {hash, prefix} = mintSecret()
  return insertToken(house.db, {...place, id: newId('tok'), name: 'ci', prefix, hash, expiresAt: null})
}

test('a change has all properties of the specification', async t => {
  const {org, person} = await house.makeOrg({email: 'ana@history.example'})
  await record({org, via: 'session', person}, timezone)
  const [change, ...others] = await list(org)
  t.deepEqual(others, [])
  const {id, createdAt, ...rest} = change!
  t.regex(id, /^chg_/)
  t.regex(createdAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  t.deepEqual(rest, {
    ...timezone,
    target: null,
    proposedBy: null,
    userId: person,
    userName: 'Test Person',
    userEmail: 'ana@history.example',
    via: 'session',
    tokenId: null,
    tokenName: null,
    connectorId: null,
  })
})

test('values of every JSON type are stored unchanged', async t => {
  const {org, person} = await house.makeOrg()
  for (const value of [null, false, 0, '', 'text', [], [1, null], {}, {deep: {null: null}}]) {
    await record({org, via: 'session', person}, {...timezone, before: value, after: value})
    t.like((await list(org))[0], {before: value, after: value}, JSON.stringify(value))
  }
})

test('a change proposed by an AI is recorded under the person', async t => {
  const {org, person} = await house.makeOrg()
  await record({org, via: 'session', person}, {...timezone, proposedBy: 'ai'})
  t.like((await list(org))[0], {proposedBy: 'ai', userId: person, via: 'session'})
})

test('a change by an API token names the token and no person, also after revocation', async t => {
  const place = await house.makeOrg()
  const {id} = (await newToken(place))!
  await record({...place, via: 'token', token: id}, timezone)
  await house.db.query(sql.unsafe`update api_tokens set revoked_at = lading_now() where id = ${id}`)
  t.like((await list(place.org))[0], {via: 'token', userId: null, userName: null, userEmail: null, tokenId: id, tokenName: 'ci'})
})

test('a change through MCP names its person', async t => {
  const {org, person} = await house.makeOrg()
  await record({org, via: 'oauth', person}, timezone)
  t.like((await list(org))[0], {via: 'oauth', userId: person, tokenId: null})
})

for (const via of ['payment', 'schedule', 'staff'] as const) {
  test(`a change via ${via} has no author`, async t => {
    const {org, person} = await house.makeOrg()
    await record({org, via, person}, timezone)
    t.like((await list(org))[0], {via, userId: null, userName: null, tokenId: null})
  })
}

test('people who left the org keep their names in its history', async t => {
  const {org, person} = await house.makeOrg()
  await record({org, via: 'session', person}, {page: 'members', subject: 'member.role', targetPerson: person, before: 'owner', after: null})
  await house.db.query(sql.unsafe`delete from members where org_id = ${org}`)
  t.like((await list(org))[0], {userId: person, userName: 'Test Person', target: 'Test Person'})
})

test('an erased person is named nowhere in the history, and their changes stay', async t => {
  const {org, person} = await house.makeOrg()
  await record({org, via: 'session', person}, {page: 'members', subject: 'member.role', targetPerson: person, before: 'owner', after: null})
  await house.db.query(sql.unsafe`delete from people where id = ${person}`)
  t.like((await list(org))[0], {userId: null, userName: null, userEmail: null, target: null, before: 'owner'})
})

test('changes of one request have the same time, and the newest come first', async t => {
  const {org, person} = await house.makeOrg()
  await record({org, via: 'session', person}, timezone)
  await house.db.query(sql.unsafe`update changes set created_at = created_at - interval '1 second' where org_id = ${org}`)
  await record({org, via: 'session', person}, {...timezone, after: 'one'}, {...timezone, after: 'two'})
  const [one, two, oldest] = await list(org)
  t.deepEqual([one!.after, two!.after].sort(), ['one', 'two'])
  t.is(one!.createdAt, two!.createdAt)
  t.is(oldest!.after, 'Europe/Berlin')
  t.is((await list(org, 1)).length, 1)
})

test('a rollback records no change, and an empty set records none', async t => {
  const {org, person} = await house.makeOrg()
  await t.throwsAsync(
    house.db.transaction(async tx => {
      await recordChanges(tx, {org, via: 'session', person}, [timezone])
      throw new Error('and then it failed')
    }),
  )
  await record({org, via: 'session', person})
  t.deepEqual(await list(org), [])
})

test('the history belongs to one org and is erased with it', async t => {
  const [mine, theirs] = [await house.makeOrg(), await house.makeOrg()]
  await record({...mine, via: 'session'}, timezone)
  await record({...theirs, via: 'session'}, timezone)
  t.is((await list(mine.org)).length, 1)
  await house.db.query(sql.unsafe`delete from orgs where id = ${mine.org}`)
  t.deepEqual(await list(mine.org), [])
  t.is((await list(theirs.org)).length, 1)
})

test('every page of the history is used somewhere', t => {
  const sources = globSync('shared/**/*.ts').map(path => readFileSync(path, 'utf8'))
  const written = new Set(sources.flatMap(text => [...text.matchAll(/\bpage: '(\w+)'/g)].map(([, page]) => page)))
  t.deepEqual(
    PAGES.filter(page => !written.has(page)),
    [],
  )
})
