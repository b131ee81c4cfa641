import test from 'ava'
import {z} from 'zod'
import {recordChanges} from '../../shared/configuration/change.ts'
import {sql} from '../../sql/database.ts'
import {ok} from '../support/importing.ts'
import {addConnector, discover, openRegistry} from '../support/registry.ts'
import {leadsTemplate, makeTemplate} from '../support/templates.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let house: TestDeployment
test.before(async t => {
  house = await startTestDeployment(t)
})

const open = async () => {
  const home = await openRegistry(house)
  const history = (query = '') => home.call('GET', `/orgs/${home.org}/config/changes${query}`)
  const changes = async (query = '') => (await ok(history(query), 200)).changes as any[]
  const subjects = async (query = '') => (await changes(query)).map(({subject}) => subject)
  return {...home, history, changes, subjects}
}

test('the history has one entry per changed value, one version per request, newest first', async t => {
  const {call, at, changes, connector, person} = await open()
  await ok(call('PATCH', at('modules/Leads'), {enabled: true, singular: 'Prospect'}), 200)
  await ok(call('PATCH', at('fields/Leads/Email?proposedBy=ai'), {pii: true}), 200)
  const found = await changes(`?connector=${connector}`)
  t.deepEqual(
    found.map(({subject, target, after, registryVersion}) => [subject, target, after, registryVersion]),
    [
      ['field.excludeFromAi', 'leads.Email', true, 3],
      ['module.singular', 'leads', 'Prospect', 2],
      ['module.enabled', 'leads', true, 2],
      ['module.added', 'leads', {key: 'leads', apiName: 'Leads', connectorId: connector, order: 1}, 2],
    ],
  )
  t.like(found[0], {page: 'fields', before: null, proposedBy: 'ai', via: 'session', userId: person, connectorId: connector, tokenId: null})
  t.like(found[2], {page: 'modules', before: null, proposedBy: null})
  t.like(await call('PATCH', at('settings?proposedBy=me'), {}), {status: 400, body: {code: 'INVALID'}})
})

test('a change by a token names the token, also after its revocation', async t => {
  const {call, at, org, changes} = await open()
  const {token, secret} = await ok(call('POST', `/orgs/${org}/tokens`, {name: 'pipeline'}), 201)
  await ok(house.as(secret)('PATCH', at('settings'), {timezone: 'Europe/Berlin'}), 200)
  await ok(call('DELETE', `/orgs/${org}/tokens/${token.id}`), 200)
  t.like((await changes('?page=general'))[0], {
    via: 'token',
    tokenId: token.id,
    tokenName: 'pipeline',
    userId: null,
    userName: null,
    after: 'Europe/Berlin',
  })
})

test('a change by staff in a view is recorded under the staff member, via a session', async t => {
  const {org, at, changes} = await open()
  const staff = await house.makeStaff({name: 'Sam Staff'})
  const view = await house.openView({org, write: true, by: staff.token})
  await ok(house.as(view)('PATCH', at('settings'), {timezone: 'Europe/Berlin'}), 200)
  t.like((await changes())[0], {via: 'session', userId: staff.person, userName: 'Sam Staff'})
  const reading = await house.openView({org, by: staff.token})
  t.like(await house.as(reading)('PATCH', at('settings'), {}), {status: 403, body: {code: 'IMPERSONATION_READ_ONLY'}})
})

test('a connection filter selects the pages of that connection and keeps those of the org', async t => {
  const {call, at, org, connector, history, subjects} = await open()
  const two = await addConnector(house, org, 'Two')
  await discover(house, org, two)
  await ok(call('PATCH', at(`modules/Leads?connector=${connector}`), {enabled: true}), 200)
  await ok(call('PATCH', at(`writing?connector=${two}`), {paused: true}), 200)
  await ok(call('PATCH', at('settings'), {timezone: 'Europe/Berlin'}), 200)
  const one = ['settings.timezone', 'module.enabled', 'module.added']
  t.deepEqual(await subjects(), ['settings.timezone'])
  t.deepEqual(await subjects(`?connector=${connector}`), one)
  t.deepEqual(await subjects(`?connector=${two}`), ['settings.timezone', 'writing.paused'])
  t.deepEqual(await subjects(`?connector=${connector}&page=modules`), one.slice(1))
  t.deepEqual(await subjects('?page=modules&page=general'), ['settings.timezone'])
  t.deepEqual(await subjects(`?connector=${connector}&page=writing`), [])
  for (const query of ['?page=modules', '?page=fields&page=writing']) {
    const refused = await history(query)
    t.like(refused, {status: 400, body: {code: 'CONNECTION_REQUIRED'}})
    t.deepEqual(refused.body.connections, [
      {id: connector, name: 'One', state: 'connected'},
      {id: two, name: 'Two', state: 'connected'},
    ])
  }
  const [change] = (await ok(history(`?connector=${two}&page=writing`), 200)).changes
  t.like(change, {target: 'Two', connectorId: two, before: false, after: true})
})

test('entries of the Connections page belong to the org and name their connection', async t => {
  const {org, person, connector, changes} = await open()
  const change = {
    page: 'connections',
    subject: 'connection.name',
    target: 'One',
    before: 'Old',
    after: 'One',
    connectorId: connector,
  } as const
  await house.db.transaction(tx => recordChanges(tx, {org, via: 'session', person}, [change]))
  t.like((await changes('?page=connections'))[0], {connectorId: connector, registryVersion: null, before: 'Old'})
})

test('creating and revoking an API token is recorded once each on the tokens page', async t => {
  const {call, org, person, changes} = await open()
  const {token, secret} = await ok(call('POST', `/orgs/${org}/tokens`, {name: 'pipeline'}), 201)
  for (let time = 0; time < 2; time++) await ok(call('DELETE', `/orgs/${org}/tokens/${token.id}`), 200)
  const about = {tokenId: token.id, prefix: token.prefix, expiresAt: null}
  const found = await changes('?page=tokens')
  t.like(found, [
    {subject: 'token.revoked', target: 'pipeline', before: about, after: null, userId: person, via: 'session'},
    {subject: 'token.created', target: 'pipeline', before: null, after: about, userId: person, via: 'session'},
  ])
  t.is(found.length, 2)
  t.false(JSON.stringify(found).includes(secret))
})

test('every template change is on the templates page; a private template is named by its id', async t => {
  const {call, org, changes} = await open()
  const template = await makeTemplate(call, org)
  const path = `/orgs/${org}/templates/${template.id}`
  const write = async (name: string) => ok(call('PUT', path, leadsTemplate({name})), 200)
  await write('Secret plan')
  await write('Secret plan')
  for (const shared of [true, true]) await ok(call('POST', `${path}/share`, {shared}), 200)
  await write('Public plan')
  const {secret} = await ok(call('POST', `/orgs/${org}/tokens`, {name: 'repository'}), 201)
  const push = (name: string, more: object = {}) =>
    ok(house.as(secret)('POST', `/orgs/${org}/config/bundle`, {templates: [leadsTemplate({name, ...more})]}), 200)
  await push('Public plan', {description: 'Changed'})
  await push('Public plan', {description: 'Changed'})
  await push('Pushed')
  await ok(call('DELETE', path), 200)
  const found = await changes('?page=templates')
  t.deepEqual(
    found.map(({subject, target, after, via}) => [subject, target, after?.version ?? after, via]),
    [
      ['template.deleted', 'Public plan', null, 'session'],
      ['template.created', 'Pushed', 1, 'token'],
      ['template.changed', 'Public plan', 4, 'token'],
      ['template.changed', 'Public plan', 3, 'session'],
      ['template.shared', 'Secret plan', true, 'session'],
      ['template.changed', template.id, 2, 'session'],
      ['template.created', template.id, 1, 'session'],
    ],
  )
  t.deepEqual(found[0].before, {templateId: template.id, version: 4})
})

test('creating, renaming and deleting an import is recorded on the imports page', async t => {
  const {call, org, connector, changes} = await open()
  const path = `/orgs/${org}/imports`
  const {import: made} = await ok(call('POST', path, {connectorId: connector, name: 'March'}), 201)
  for (let time = 0; time < 2; time++) await ok(call('PATCH', `${path}/${made.id}`, {name: 'April'}), 200)
  await ok(call('DELETE', `${path}/${made.id}`), 200)
  const found = await changes('?page=imports')
  t.deepEqual(
    found.map(({subject, target, before, after, connectorId}) => [subject, target, before, after, connectorId]),
    [
      ['import.deleted', 'April', {importId: made.id}, null, connector],
      ['import.renamed', 'March', 'March', 'April', connector],
      ['import.created', 'March', null, {importId: made.id, templateId: null}, connector],
    ],
  )
})

test('a connection of another org is not found; an unknown page or cursor is refused', async t => {
  const [mine, theirs] = [await open(), await open()]
  for (const id of [theirs.connector, 'con_none'])
    t.like(await mine.history(`?connector=${id}`), {status: 404, body: {code: 'CONNECTION_NOT_FOUND'}})
  t.like(await mine.history('?page=nowhere'), {status: 400, body: {code: 'INVALID'}})
  t.like(await mine.history('?page=general&page=nowhere'), {status: 400, body: {code: 'INVALID'}})
  t.like(await mine.history('?cursor=abc'), {status: 400, body: {code: 'INVALID_CURSOR'}})
  for (let n = 0; n < 2; n++) await ok(theirs.call('PATCH', theirs.at('settings'), {expressionContext: {n}}), 200)
  const {nextCursor} = await ok(theirs.history('?limit=1'), 200)
  t.truthy(nextCursor)
  t.like(await mine.history(`?cursor=${nextCursor}`), {status: 400, body: {code: 'INVALID_CURSOR'}})
})

const write = async (org: string, count: number) => {
  await house.db.transaction(tx =>
    recordChanges(
      tx,
      {org, via: 'schedule'},
      Array.from({length: count}, (_, n) => ({page: 'general' as const, subject: 'settings.timezone', before: null, after: n})),
    ),
  )
}

test('an excessive limit is capped, and an invalid one uses the default', async t => {
  const {org, changes} = await open()
  await write(org, 250)
  const counts = await Promise.all(['', '?limit=0', '?limit=-1', '?limit=x', '?limit=1.5', '?limit=3', '?limit=9999'].map(changes))
  t.deepEqual(
    counts.map(({length}) => length),
    [50, 50, 50, 50, 50, 3, 200],
  )
})

test('paging through changes of one millisecond repeats and misses none, also during more writes', async t => {
  const {org, history} = await open()
  await write(org, 100)
  const inOneMoment = () =>
    house.db.query(sql.unsafe`update changes set created_at = '2026-01-01T00:00:00.123Z' where org_id = ${org} and via = 'schedule'`)
  await inOneMoment()
  const there = await house.db.anyFirst(sql.type(z.object({id: z.string()}))`select id from changes where org_id = ${org}`)
  const seen: string[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: any = await ok(history(`?limit=7${cursor && `&cursor=${cursor}`}`), 200)
    seen.push(...page.changes.map(({id}: {id: string}) => id))
    cursor = page.nextCursor
    await write(org, 3)
    await inOneMoment()
  }
  t.is(new Set(seen).size, seen.length)
  t.deepEqual(
    there.filter(id => !seen.includes(id)),
    [],
  )
})

test('changes of another org are not returned', async t => {
  const [mine, theirs] = [await open(), await open()]
  await ok(theirs.call('PATCH', theirs.at('settings'), {timezone: 'Europe/Berlin'}), 200)
  t.deepEqual(await mine.changes(), [])
  t.like(await mine.call('GET', `/orgs/${theirs.org}/config/changes`), {status: 403, body: {code: 'OTHER_ORG'}})
})

test('sending and withdrawing an invitation is recorded once each on the members page, without its address', async t => {
  const {call, org, person, changes} = await open()
  const {invitation} = await ok(call('POST', `/orgs/${org}/invitations`, {email: 'dora@example.org', role: 'builder'}), 201)
  for (let time = 0; time < 2; time++) await ok(call('DELETE', `/orgs/${org}/invitations/${invitation.id}`), 200)
  const found = (await changes('?page=members')).filter(({subject}) => subject.startsWith('invitation.'))
  const about = {invitationId: invitation.id, role: 'builder'}
  t.like(found, [
    {subject: 'invitation.withdrawn', before: about, after: null, userId: person},
    {subject: 'invitation.sent', before: null, after: about, userId: person},
  ])
  t.is(found.length, 2)
  t.false(JSON.stringify(found).includes('dora@example.org'))
})
