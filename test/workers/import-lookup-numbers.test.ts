import test from 'ava'
import {openOrg, readLog, runImport} from '../support/importing.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

const column = (field: string, source: string) => ({field, mode: 'column', source})
const companies = {module: 'Accounts', fields: [column('Account_Name', 'company'), column('Employees', 'size')]}
const people = {
  module: 'Contacts',
  fields: [column('Last_Name', 'name'), {field: 'Account_Name', mode: 'search', source: 'size', searchField: 'Employees'}],
}

test('a number is searched for as its column is read, at the CRM and among rows of an earlier flow', async t => {
  const here = await startTestDeployment(t, {workers: ['discovery', 'imports']})
  const org = await openOrg(here)
  const linkOf = (name: string) =>
    (here.crm.records('example', 'Contacts').find(({Last_Name}) => Last_Name === name) as any)?.Account_Name?.id
  const [made] = here.crm.create('example', 'Accounts', [{Account_Name: 'Large', Employees: 7_654_321}])
  await runImport(org, {csv: 'name,size\nSa,7.654.321\n', flow: people})
  t.is(linkOf('Sa'), String(made!.details.id))
  const {path, run} = await runImport(org, {
    csv: 'name,company,size\nSb,Own,12.345.678\nSc,,1.234\nSd,Other,7.654.322\n',
    flow: [companies, people],
  })
  t.truthy(linkOf('Sb'))
  const log = await readLog(org.call, `${path}/runs/${run.id}`)
  t.like(
    log.filter(({flowId, outcome}) => flowId === 'f2' && outcome === 'failed'),
    [{rowNumber: 2, code: 'PARENT_FAILED'}],
  )
})
