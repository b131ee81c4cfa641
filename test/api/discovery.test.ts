import anyTest, {type TestFn} from 'ava'
import {newId} from '../../shared/ids.ts'
import {insertConnector} from '../../sql/connectors.ts'
import {insertDiscovery} from '../../sql/discoveries.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

const test = anyTest as TestFn<{world: TestDeployment}>

test.before(async t => {
  t.context.world = await startTestDeployment(t)
})

const addConnector = ({db}: TestDeployment, org: string, name = 'One') =>
  db.transaction(async tx => {
    const details = {dc: 'local', crmOrgId: name, apiDomain: 'http://127.0.0.1:9', crmUserId: '1', crmUserName: 'Ana', scopes: ['a', 'b']}
    return (await insertConnector(tx, {id: newId('con'), org, name, person: null, ...details})).id
  })
const addDiscovery = async ({db}: TestDeployment, connector: string) => {
  const id = newId('dis')
  await db.transaction(tx => insertDiscovery(tx, {id, connector, modules: [], diff: {since: null, added: [], removed: [], changed: []}}))
  return id
}
const open = async ({makeOrg, as}: TestDeployment, role: 'operator' | 'admin' | 'owner' = 'owner') => {
  const {org, token} = await makeOrg({role})
  return {org, call: as(token)}
}

test('connections are listed for their own org only, without secrets', async t => {
  const {world} = t.context
  const {org, call} = await open(world, 'operator')
  const other = await open(world)
  await addConnector(world, other.org)
  t.deepEqual((await call('GET', `/orgs/${org}/connectors`)).body, {connectors: []})
  const ids = [await addConnector(world, org, 'One'), await addConnector(world, org, 'Two')]
  const {status, body} = await call('GET', `/orgs/${org}/connectors`)
  t.is(status, 200)
  t.deepEqual(
    body.connectors.map(({id}: any) => id),
    ids,
  )
  t.deepEqual(Object.keys(body.connectors[0]).toSorted(), [
    'createdAt',
    'crmUserName',
    'dc',
    'id',
    'kind',
    'name',
    'scopes',
    'state',
    'warnings',
    'writesPaused',
  ])
  t.like(body.connectors[0], {name: 'One', kind: 'zoho', dc: 'local', state: 'connected', crmUserName: 'Ana', scopes: ['a', 'b']})
})

test('a discovery request is queued and returns its job', async t => {
  const {world} = t.context
  const {org, call} = await open(world, 'admin')
  const connector = await addConnector(world, org)
  const {status, headers, body} = await call('POST', `/orgs/${org}/discovery/run`)
  t.is(status, 202)
  t.like(body.job, {name: 'discovery.run', state: 'queued'})
  t.is(headers.get('location'), `/orgs/${org}/jobs/${body.job.id}`)
  t.is((await call('POST', `/orgs/${org}/discovery/run`, {connectorId: connector})).body.job.id, body.job.id)
})

test('a doctor request returns the live job with the same options, and is refused while one with others is live', async t => {
  const {world} = t.context
  const {org, call} = await open(world, 'admin')
  const connector = await addConnector(world, org)
  const ask = (body: object) => call('POST', `/orgs/${org}/connectors/${connector}/doctor`, body)
  const {status, body} = await ask({})
  t.is(status, 202)
  t.is((await ask({write: false})).body.job.id, body.job.id)
  const refused = await ask({write: true})
  t.like(refused, {status: 503, body: {code: 'BUSY'}})
  t.is(refused.headers.get('retry-after'), '30')
})

test('discovery needs a connection name if there are several or none', async t => {
  const {world} = t.context
  const {org, call} = await open(world)
  t.like(await call('POST', `/orgs/${org}/discovery/run`, {}), {status: 400, body: {code: 'CONNECTION_REQUIRED', connections: []}})
  const ids = [await addConnector(world, org, 'One'), await addConnector(world, org, 'Two')]
  for (const refused of [await call('POST', `/orgs/${org}/discovery/run`, {}), await call('GET', `/orgs/${org}/discovery/latest`)]) {
    t.like(refused, {status: 400, body: {code: 'CONNECTION_REQUIRED'}})
    t.deepEqual(refused.body.connections, [
      {id: ids[0], name: 'One', state: 'connected'},
      {id: ids[1], name: 'Two', state: 'connected'},
    ])
  }
})

test('a connection of another org is not found by discovery', async t => {
  const {world} = t.context
  const [own, other] = [await open(world), await open(world)]
  const connector = await addConnector(world, other.org)
  const run = await own.call('POST', `/orgs/${own.org}/discovery/run`, {connectorId: connector})
  t.like(run, {status: 404, body: {code: 'CONNECTION_NOT_FOUND'}})
  const latest = await own.call('GET', `/orgs/${own.org}/discovery/latest?connector=${connector}`)
  t.like(latest, {status: 404, body: {code: 'CONNECTION_NOT_FOUND'}})
})

test('running a discovery needs an admin; reading one does not', async t => {
  const {world} = t.context
  const {org, call} = await open(world, 'operator')
  await addConnector(world, org)
  t.like(await call('POST', `/orgs/${org}/discovery/run`, {}), {status: 403, body: {code: 'ROLE_REQUIRED'}})
  t.like(await call('GET', `/orgs/${org}/discovery/latest`), {status: 409, body: {code: 'NO_DISCOVERY'}})
})

test('the latest snapshot is that of the requested connection', async t => {
  const {world} = t.context
  const {org, call} = await open(world)
  const [one, two] = [await addConnector(world, org, 'One'), await addConnector(world, org, 'Two')]
  await addDiscovery(world, one)
  const second = await addDiscovery(world, one)
  await addDiscovery(world, two)
  const {status, body} = await call('GET', `/orgs/${org}/discovery/latest?connector=${one}`)
  t.is(status, 200)
  t.like(body.discovery, {id: second, connectorId: one, modules: [], diff: {since: null}})
  t.regex(body.discovery.createdAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
})
