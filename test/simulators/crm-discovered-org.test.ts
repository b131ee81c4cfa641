import test from 'ava'
import {ok, openOrg} from '../support/importing.ts'
import {startTestDeployment} from '../support/test-deployment.ts'
import {specOfDiscovery} from './crm/discovered-org.ts'

/** The fields that the simulator adds to every module. */
const system = ['Owner', 'Created_By', 'Modified_By', 'Created_Time', 'Modified_Time', 'Record_Status__s', 'Locked__s']

test('the org built from a discovery has the same modules, fields, layouts and rules', async t => {
  const house = await startTestDeployment(t, {workers: ['discovery']})
  house.crm.addLayout('example', 'Leads', {name: 'Fair', without: ['Website'], required: ['Company']})
  house.crm.addAssignmentRule('example', 'Leads', {name: 'By region', assignTo: 'ana@example.org'})
  const first = await openOrg(house)
  const {discovery} = await ok(first.call('GET', `/orgs/${first.org}/discovery/latest`), 200)
  const email = 'tess@copy.example'
  house.crm.addOrg(specOfDiscovery({key: 'copy', number: 1, email, modules: discovery.modules}))
  const second = await openOrg(house, email)
  const copy = await ok(second.call('GET', `/orgs/${second.org}/discovery/latest`), 200)
  t.deepEqual(copy.discovery.modules.map(comparable), discovery.modules.map(comparable))
})

/** Returns a module without what may differ: ids, system fields, and the labels of subform modules. */
const comparable = ({id: _, label, singular, kind, fields, ...module}: any) => ({
  ...module,
  kind,
  ...(kind !== 'subform' && {label, singular}),
  fields: fields.filter(({apiName}: any) => !system.includes(apiName)),
})
