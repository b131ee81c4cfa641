import test from 'ava'
import {insertDiscovery, listDiscoveredModules} from '../../sql/discoveries.ts'
import {ok, openOrg} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let house: TestDeployment
test.before(async t => {
  house = await startTestDeployment(t, {workers: ['discovery']})
})

test.serial(
  'a discovery raises the configuration version only if something changed, and a returning field keeps its annotations',
  async t => {
    const {call, org, connector} = await openOrg(house)
    const at = (path: string) => `/orgs/${org}/config/${path}`
    const discover = () => ok(call('POST', `/orgs/${org}/discovery/run`, {connectorId: connector}, {prefer: 'wait=30'}), 200)
    const tag = async () => (await call('GET', at('resolved'))).headers.get('etag')
    t.is(await tag(), '"1"')
    await discover()
    t.is(await tag(), '"1"')
    await ok(call('PATCH', at('fields/Orders/Weight'), {pii: true, description: 'In kilograms'}), 200)
    t.is(await tag(), '"2"')

    house.crm.dropField('example', 'Orders', 'Weight')
    await discover()
    t.is(await tag(), '"3"')
    const find = async (query: string) =>
      (await ok(call('GET', at(`fields/Orders${query}`)), 200)).fields.find(({apiName}: any) => apiName === 'Weight')
    t.is(await find(''), undefined)
    t.like(await find('?all=1'), {removed: true, annotation: {pii: true, description: 'In kilograms'}})

    house.crm.addField('example', 'Orders', {name: 'Weight', type: 'double', decimals: 3})
    await discover()
    t.is(await tag(), '"4"')
    t.like(await find(''), {removed: false, annotation: {pii: true, description: 'In kilograms'}})
  },
)

test.serial('a discovery becomes the newest, even if the process that made the last one had a clock ahead', async t => {
  const {call, org, connector} = await openOrg(house)
  const latest = async () => (await ok(call('GET', `/orgs/${org}/discovery/latest`), 200)).discovery
  const ahead = `dis_7${'0'.repeat(25)}`
  const modules = [...(await listDiscoveredModules(house.db, (await latest()).id))]
  const diff = {since: null, added: [], removed: [], changed: []}
  await house.db.transaction(tx => insertDiscovery(tx, {id: ahead, connector, modules, diff}))
  house.crm.addField('example', 'Orders', {name: 'Height', type: 'double'})
  await ok(call('POST', `/orgs/${org}/discovery/run`, {connectorId: connector}, {prefer: 'wait=30'}), 200)
  const {id, diff: found} = await latest()
  t.true(id > ahead)
  t.like(found, {since: ahead, changed: [{module: 'Orders', fields: {added: ['Height']}}]})
})
