import test from 'ava'
import {ROLES} from '../../shared/accounts/roles.ts'
import {newId} from '../../shared/ids.ts'
import {sql} from '../../sql/database.ts'
import {field} from '../support/discovered.ts'
import {ok} from '../support/importing.ts'
import {addConnector, discover, moduleOf, usualModules} from '../support/registry.ts'
import {seldom} from '../support/schedules.ts'
import {leadsTemplate, makeTemplate, openTemplates, outcome} from '../support/templates.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let house: TestDeployment
test.before(async t => {
  house = await startTestDeployment(t)
})

const open = () => openTemplates(house)

test('a template is created, read, listed, changed and deleted, with its version each time', async t => {
  const {org, call, path} = await open()
  const made = await call('POST', `/orgs/${org}/templates`, leadsTemplate())
  t.is(made.status, 201)
  t.is(made.headers.get('etag'), '"1"')
  const {id, createdAt, updatedAt, createdBy, ...rest} = made.body.template
  t.deepEqual(rest, {...leadsTemplate(), verify: 'off', version: 1, shared: false, mine: true, mayEdit: true})
  t.is(createdBy, 'Test Person')
  t.deepEqual((await ok(call('GET', path(id)), 200)).template, made.body.template)
  const changed = await call('PUT', path(id), leadsTemplate({name: 'Other'}), {'if-match': '"1"'})
  t.like(changed.body.template, {name: 'Other', version: 2})
  t.is(changed.headers.get('etag'), '"2"')
  t.like((await call('PUT', path(id), leadsTemplate({name: 'Other'}), {'if-match': '2'})).body.template, {version: 2}, 'nothing differs')
  const {templates, nextCursor} = await ok(call('GET', `/orgs/${org}/templates`), 200)
  t.deepEqual(
    templates.map(({name, version}: any) => [name, version]),
    [['Other', 2]],
  )
  t.is(nextCursor, null)
  t.deepEqual(outcome(await call('DELETE', path(id), undefined, {'if-match': '1'})), [409, 'TEMPLATE_CONFLICT'])
  t.deepEqual(await ok(call('DELETE', path(id)), 200), {removed: id})
  t.deepEqual(outcome(await call('GET', path(id))), [404, 'NOT_FOUND'])
})

test('templates are listed in pages, newest first', async t => {
  const {org, call} = await open()
  for (const name of ['a', 'b', 'c']) await makeTemplate(call, org, {name})
  const first = await ok(call('GET', `/orgs/${org}/templates?limit=2`), 200)
  const second = await ok(call('GET', `/orgs/${org}/templates?limit=2&cursor=${first.nextCursor}`), 200)
  t.deepEqual(
    [...first.templates, ...second.templates].map(({name}: any) => name),
    ['c', 'b', 'a'],
  )
  t.is(second.nextCursor, null)
})

test('of concurrent changes against one version one succeeds; the others get the current version', async t => {
  const {org, call, path} = await open()
  const {id} = await makeTemplate(call, org)
  for (let version = 1; version <= 3; version++) {
    const header = version % 2 ? `"${version}"` : `${version}`
    const put = (n: number) => call('PUT', path(id), leadsTemplate({name: `By ${version}.${n}`}), {'if-match': header})
    const answers = await Promise.all(Array.from({length: 8}, (_, n) => put(n)))
    const [won, lost] = [answers.filter(({status}) => status === 200), answers.filter(({status}) => status === 409)]
    t.deepEqual([won.length, lost.length], [1, 7])
    for (const {body} of lost) t.like(body, {code: 'TEMPLATE_CONFLICT', version: version + 1})
    t.deepEqual((await ok(call('GET', path(id)), 200)).template, won[0]!.body.template)
  }
  for (const header of ['*', undefined])
    t.is((await call('PUT', path(id), leadsTemplate({name: `${header}`}), header ? {'if-match': header} : {})).status, 200)
  t.deepEqual(outcome(await call('PUT', path(id), leadsTemplate(), {'if-match': 'W/"6"'})), [400, 'BAD_IF_MATCH'])
})

test('a private template is visible to its creator and to admins; a shared one to every member', async t => {
  const {org, as, path} = await open()
  const maker = await as('builder')
  const {id} = await makeTemplate(maker.call, org)
  const others = await Promise.all(ROLES.map(async role => ({role, isAdmin: role === 'admin' || role === 'owner', ...(await as(role))})))
  const read = async (call: typeof maker.call) =>
    Promise.all([
      ...['', '/runs', '/check'].map(async more => (await call('GET', path(id, more))).status),
      (async () => (await ok(call('GET', `/orgs/${org}/templates`), 200)).templates.length)(),
      (async () => (await call('POST', '/entitlements/runs/authorise', {declaredRows: 1, templateId: id})).status)(),
    ])
  for (const {role, isAdmin, call} of others) {
    t.deepEqual(await read(call), isAdmin ? [200, 200, 200, 1, 200] : [404, 404, 404, 0, 404], role)
    if (isAdmin) continue
    const refusal = role === 'operator' ? [403, 'ROLE_REQUIRED'] : [404, 'NOT_FOUND']
    t.deepEqual(outcome(await call('PUT', path(id), leadsTemplate())), refusal, role)
    t.deepEqual(outcome(await call('POST', path(id, '/share'), {})), refusal, role)
    t.deepEqual(outcome(await call('DELETE', path(id))), refusal, role)
  }
  t.like((await ok(maker.call('POST', path(id, '/share'), {}), 200)).template, {shared: true, version: 1})
  for (const {role, isAdmin, call} of others) {
    t.deepEqual(await read(call), [200, 200, 200, 1, 200], role)
    t.is((await ok(call('GET', path(id)), 200)).template.mayEdit, isAdmin)
    t.deepEqual(outcome(await call('PUT', path(id), leadsTemplate({name: role}))), isAdmin ? [200, null] : [403, 'ROLE_REQUIRED'], role)
  }
  const admin = others.find(({role}) => role === 'admin')!
  t.like((await ok(admin.call('POST', path(id, '/share'), {shared: false}), 200)).template, {shared: false})
  t.deepEqual(await read(admin.call), [200, 200, 200, 1, 200], 'an admin who makes a template private still sees it')
  t.deepEqual(await read(others.find(({role}) => role === 'builder')!.call), [404, 404, 404, 0, 404])
  const view = house.as(await house.openView({org}))
  t.is((await view('GET', path(id))).status, 200, 'a staff view acts as an admin')
})

test('an admin can read, edit, stop and delete a builder’s private template and its schedule', async t => {
  const {org, as, path, connector} = await open()
  const maker = await as('builder')
  const {id} = await makeTemplate(maker.call, org)
  const {schedule} = await ok(
    maker.call('POST', path(id, '/schedules'), {
      name: 'Nightly',
      ...seldom,
      connectorId: connector,
      source: {kind: 'https', url: 'https://files.example.org/leads.csv'},
    }),
    201,
  )
  const scheduled = path(id, `/schedules/${schedule.id}`)
  for (const role of ['admin', 'owner'] as const) {
    const {call} = await as(role)
    const {templates} = await ok(call('GET', `/orgs/${org}/templates`), 200)
    t.like(templates[0], {id, mine: false, mayEdit: true}, role)
    t.like((await ok(call('PUT', path(id), leadsTemplate({name: role})), 200)).template, {name: role, shared: false})
    t.like((await ok(call('GET', path(id, '/schedules')), 200)).schedules, [{id: schedule.id}])
    t.like((await ok(call('PATCH', scheduled, {enabled: false}), 200)).schedule, {enabled: false, createdBy: maker.person})
    t.like((await ok(call('PATCH', scheduled, {enabled: true}), 200)).schedule, {enabled: true})
  }
  const other = await as('builder')
  t.deepEqual(outcome(await other.call('PATCH', scheduled, {enabled: false})), [404, 'NOT_FOUND'])
  const {call} = await as('admin')
  await ok(call('DELETE', scheduled), 200)
  await ok(call('DELETE', path(id)), 200)
  t.deepEqual(outcome(await maker.call('GET', path(id))), [404, 'NOT_FOUND'])
})

test('admins keep a private template whose creator left or was erased', async t => {
  const {org, as, path, call} = await open()
  const maker = await as('builder')
  const {id} = await makeTemplate(maker.call, org)
  const other = await as('builder')
  const {members} = await ok(call('GET', `/orgs/${org}/members`), 200)
  const member = members.find(({personId}: any) => personId === maker.person).id
  await ok(call('DELETE', `/orgs/${org}/members/${member}`), 200)
  t.deepEqual(outcome(await other.call('GET', path(id))), [404, 'NOT_FOUND'])
  t.like((await ok(call('GET', path(id)), 200)).template, {mine: false, mayEdit: true, createdBy: 'Test Person'})
  await ok(house.as(house.adminToken)('POST', `/staff/people/${maker.person}/delete`, {force: true}), 200)
  t.like((await ok(call('GET', path(id)), 200)).template, {createdBy: null})
  await ok(call('POST', path(id, '/share'), {}), 200)
  t.is((await other.call('GET', path(id))).status, 200)
})

test('shared templates have unique names', async t => {
  const {org, as, path} = await open()
  const [one, two] = [await as('builder'), await as('builder')]
  const [first, second] = [await makeTemplate(one.call, org), await makeTemplate(two.call, org)]
  await ok(one.call('POST', path(first.id, '/share'), {}), 200)
  t.deepEqual(outcome(await two.call('POST', path(second.id, '/share'), {})), [409, 'TEMPLATE_NAME_TAKEN'])
  await ok(two.call('PUT', path(second.id), leadsTemplate({name: 'Mine'})), 200)
  await ok(two.call('POST', path(second.id, '/share'), {}), 200)
  t.deepEqual(outcome(await two.call('PUT', path(second.id), leadsTemplate())), [409, 'TEMPLATE_NAME_TAKEN'])
})

test('a contradictory template is refused', async t => {
  const {org, call} = await open()
  const usual = leadsTemplate()
  const slot = usual.sources[0]!
  const flow = usual.flows[0]!
  const bad: [object, (string | number)[]][] = [
    [{sources: [slot, slot]}, ['sources', 1, 'slot']],
    [{flows: [flow, flow]}, ['flows', 1, 'id']],
    [{flows: [{...flow, sourceId: 'src_1'}]}, ['flows', 0, 'sourceId']],
    [{flows: [{...flow, parent: {field: 'Account', flow: 'g'}}]}, ['flows', 0, 'parent', 'flow']],
    [{sources: [{...slot, cleaning: [{step: 'strikeRows', rows: [{from: 1, to: 2}]}]}]}, ['sources', 0, 'cleaning']],
    [{sources: [{...slot, samples: ['x']}]}, ['sources', 0]],
    [{sources: [{...slot, columns: Array.from({length: 600}, (_, n) => `${n}`.padEnd(1000, 'x'))}]}, []],
    [{connectorId: newId('con')}, ['connectorId']],
  ]
  for (const [more, path] of bad) {
    const {status, body} = await call('POST', `/orgs/${org}/templates`, leadsTemplate(more))
    t.deepEqual([status, body.code, body.issues?.[0]?.path], [400, 'INVALID', path])
  }
})

test('a template keeps the slots of its data contract until the contract changes', async t => {
  const {org, call, path} = await open()
  const {id} = await makeTemplate(call, org)
  const [slot, flow] = [leadsTemplate().sources[0], leadsTemplate().flows[0]]
  const other = leadsTemplate({sources: [{...slot, slot: 'people'}], flows: [{...flow, sourceId: 'people'}]})
  await ok(call('PUT', path(id, '/contract'), {sources: [{slot: 'leads', columns: [{name: 'mail'}]}]}), 200)
  const {status, body} = await call('PUT', path(id), other)
  t.deepEqual([status, body.code, body.issues?.[0]?.path], [400, 'INVALID', ['sources']])
  t.is((await ok(call('GET', path(id)), 200)).template.version, 1)
  await ok(call('PUT', path(id, '/contract'), {sources: []}), 200)
  await ok(call('PUT', path(id), other), 200)
})

test('a check against the newest discovery reports what no longer exists', async t => {
  const {org, call, connector, path} = await open()
  const [, leads, deals] = usualModules
  const list = {picklist: [{display: 'New', actual: 'New'}], type: 'picklist'}
  const before = [
    {
      ...leads!,
      fields: [...leads!.fields.slice(0, 1), field('Email', {unique: {caseSensitive: false}}), field('Company'), field('Status', list)],
    },
    deals!,
  ]
  await discover(house, org, connector, before)
  const flow = leadsTemplate().flows[0]!
  const fields = [...flow.fields, {field: 'Status', mode: 'static', staticValue: 'New', empty: 'leave'}]
  const {id} = await makeTemplate(call, org, {
    connectorId: connector,
    flows: [{...flow, match: {by: ['Email'], onOne: 'update', onMany: 'ask'}, fields}],
  })
  t.like(await ok(call('GET', path(id, '/check')), 200), {connectorId: connector, problems: []})
  const after = [
    {
      ...leads!,
      fields: [
        field('Last_Name', {type: 'integer'}),
        field('Email'),
        field('Status', {...list, picklist: []}),
        field('Must', {required: true}),
      ],
    },
  ]
  await discover(house, org, connector, after)
  const {problems} = await ok(call('GET', path(id, '/check')), 200)
  t.deepEqual(
    problems.map(({kind, field, stops}: any) => [kind, field ?? null, stops]),
    [
      ['field_gone', 'Company', true],
      ['value_gone', 'Status', true],
      ['required_unmapped', null, true],
      ['field_changed', 'Last_Name', true],
      ['match_not_unique', 'Email', true],
    ],
  )
  await discover(house, org, connector, [moduleOf('Deals', ['Deal_Name'])])
  t.deepEqual(
    (await ok(call('GET', path(id, '/check')), 200)).problems.map(({kind, module}: any) => [kind, module]),
    [['module_gone', 'Leads']],
  )
})

test('a template without a connection is checked against a named one', async t => {
  const {org, call, path} = await open()
  const {id} = await makeTemplate(call, org)
  t.is((await call('GET', path(id, '/check'))).status, 200, 'the only connection is meant')
  const other = await addConnector(house, org, 'Two')
  t.like(await call('GET', path(id, '/check')), {status: 400, body: {code: 'CONNECTION_REQUIRED'}})
  t.deepEqual(outcome(await call('GET', path(id, `/check?connector=${other}`))), [409, 'NO_DISCOVERY'])
  t.deepEqual(outcome(await call('GET', path(id, `/check?connector=${newId('con')}`))), [404, 'CONNECTION_NOT_FOUND'])
})

test('deleting an org deletes its templates', async t => {
  const {org, call, connector} = await open()
  await makeTemplate(call, org, {connectorId: connector})
  await makeTemplate(call, org)
  await house.db.query(sql.unsafe`delete from connectors where org_id = ${org}`)
  await house.db.query(sql.unsafe`delete from orgs where id = ${org}`)
  t.is(await house.db.oneFirst(sql.unsafe`select count(*)::int from templates where org_id = ${org}`), 0)
})
