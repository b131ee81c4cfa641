import test from 'ava'
import {type Org, ok, openOrg, readLog, untilEnded} from '../support/importing.ts'
import {column, companies, people, prepareFiles} from '../support/lookups.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Org

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['imports', 'discovery'], environment: {LEASE_SECONDS: '3', CRM_TIMEOUT_SECONDS: '5'}})
  org = await openOrg(here)
})

const searched = (more: object = {}) => ({field: 'Account_Name', mode: 'search', source: 'company', ...more})
const contacts = (more: object = {}) => ({
  id: 'people',
  source: 'people',
  module: 'Contacts',
  match: null,
  fields: [column('Last_Name', 'last'), searched(more)],
})
const linkOf = (name: string) => {
  const link = here.crm.records('example', 'Contacts').find(({Last_Name}) => Last_Name === name)?.Account_Name as any
  return link?.id ?? link ?? null
}
const makeAccount = (Account_Name: string) => String(here.crm.create('example', 'Accounts', [{Account_Name}])[0]!.details.id)

const run = async (path: string, start: object = {}) => {
  const {run: begun} = await ok(org.call('POST', `${path}/runs`, start), 202)
  const ended = await untilEnded(org.call, `${path}/runs/${begun.id}`)
  return {ended, runPath: `${path}/runs/${begun.id}`, log: await readLog(org.call, `${path}/runs/${begun.id}`)}
}

const sumRows = (groups: {rows: number}[]) => groups.reduce((sum, {rows}) => sum + rows, 0)

const rowsWithoutLink = async (runPath: string, source: string) => {
  const {rows} = await ok(org.call('GET', `${runPath}/rows?source=${source}&linkEmpty=true`), 200)
  const {groups} = await ok(org.call('GET', `${runPath}/rows/tally?source=${source}`), 200)
  return {rows: rows.map(({rowNumber}: any) => rowNumber), counted: sumRows(groups.filter(({linkEmpty}: any) => linkEmpty))}
}

test.serial('a run counts the rows without their link, and a retry links them once the record exists', async t => {
  const there = makeAccount('El There')
  const csv = 'last,company\nEla,El There\nElb,El Late\nElc,El Never\nEld,\n'
  const {path, ids} = await prepareFiles(org, {people: csv}, [contacts({onNone: 'leave'})])
  const dry = await run(path, {dryRun: true})
  t.deepEqual(dry.ended.linksEmpty, [{flowId: 'people', field: 'Account_Name', rows: 2}])
  const first = await run(path)
  t.deepEqual(first.ended.linksEmpty, [{flowId: 'people', field: 'Account_Name', rows: 2}])
  t.deepEqual(await rowsWithoutLink(first.runPath, ids.people!), {rows: [2, 3], counted: 2})
  t.deepEqual([linkOf('Ela'), linkOf('Elb')], [there, null])

  const late = makeAccount('El Late')
  here.crm.clearJournal()
  const again = await run(path, {retryOf: first.ended.id})
  t.like(again.ended, {counts: {Contacts: {inherited: 4}}, rowsWritten: 0})
  t.deepEqual(again.ended.linksEmpty, [{flowId: 'people', field: 'Account_Name', rows: 1}])
  t.is(linkOf('Elb'), late)
  const writes = here.crm.journal().filter(({method, path: at}) => method === 'PUT' && at === '/crm/v8/Contacts')
  t.deepEqual(
    writes.flatMap(({body}) => body.data.map(({id: _, ...fields}: any) => fields)),
    [{Account_Name: {id: late}}],
  )
  t.deepEqual(await rowsWithoutLink(again.runPath, ids.people!), {rows: [3], counted: 1})

  makeAccount('El Never')
  t.deepEqual((await run(path, {retryOf: again.ended.id})).ended.linksEmpty, [])
  t.truthy(linkOf('Elc'))
})

test.serial('rows that need no write are counted and listed without their links', async t => {
  const csv = 'name,number,of\nKept A,Ek-1,\nKept B,Ek-2,Ek Nowhere\n'
  const search = {field: 'Parent_Account', mode: 'search', source: 'of', onNone: 'leave', searchField: 'Account_Number'}
  const flow = companies()
  const match = {...flow.match, unchanged: 'skip'}
  const flows = [{...flow, match, fields: [...flow.fields, search]}]
  const empty = [{flowId: 'companies', field: 'Parent_Account', rows: 1}]
  const first = await prepareFiles(org, {companies: csv}, flows)
  t.deepEqual((await run(first.path)).ended.linksEmpty, empty)
  const {path, ids} = await prepareFiles(org, {companies: csv}, flows)
  const {ended, runPath} = await run(path)
  t.is(ended.unchanged, 2)
  t.deepEqual(ended.linksEmpty, empty)
  t.deepEqual(await rowsWithoutLink(runPath, ids.companies!), {rows: [2], counted: 1})
})

test.serial('a retry links rows to a parent that was refused before, also a parent in the same flow', async t => {
  const files = {
    companies: 'name,number,of\nTop,El-1,\nBelow,El-2,El-1\n',
    people: 'last,mail,company\nChild,child@el.example,El-1\n',
  }
  const key = (childColumn: string) => ({parentColumn: 'number', childColumn})
  const {path} = await prepareFiles(org, files, [
    companies({parent: {field: 'Parent_Account', flow: 'companies', key: key('of'), onMissing: 'leave'}}),
    people({key: key('company'), onMissing: 'leave'}),
  ])
  here.crm.faults.add({match: {method: 'POST', path: '/crm/v8/Accounts'}, times: 1, action: {type: 'refuse', index: 0}})
  const first = await run(path)
  here.crm.faults.clear()
  t.deepEqual(first.ended.linksEmpty, [
    {flowId: 'companies', field: 'Parent_Account', rows: 1},
    {flowId: 'people', field: 'Account_Name', rows: 1},
  ])
  const again = await run(path, {retryOf: first.ended.id})
  t.deepEqual(again.ended.linksEmpty, [])
  const accounts = here.crm.records('example', 'Accounts')
  const top = accounts.find(({Account_Number}) => Account_Number === 'El-1')!.id
  t.is((accounts.find(({Account_Number}) => Account_Number === 'El-2')!.Parent_Account as any).id, top)
  t.is(linkOf('Child'), top)
})

test.serial('a lookup into an earlier flow of the import fails by default with the row and the code of its parent', async t => {
  const files = {
    companies: 'name,number\nOwn Good,Eo-1\nOwn Bad,Eo-2\n',
    people: 'last,company\nGood,Own Good\nBad,own bad\nNone,Own Nowhere\n',
  }
  const flows = [companies(), contacts()]
  const {path} = await prepareFiles(org, files, flows)
  const {import: made} = await ok(org.call('GET', path), 200)
  t.is(made.flows[1].fields[1].onNone, 'fail')
  const refuse = () =>
    here.crm.faults.add({match: {method: 'POST', path: '/crm/v8/Accounts'}, times: 1, action: {type: 'refuse', index: 1}})
  refuse()
  const {ended, log} = await run(path)
  here.crm.faults.clear()
  t.like(ended.counts.Contacts, {created: 1, failed: 2})
  t.deepEqual(ended.linksEmpty, [])
  const failed = log.filter(({outcome}) => outcome === 'failed').toSorted((a, b) => a.rowNumber - b.rowNumber)
  t.deepEqual(
    failed.map(({rowNumber, code}) => [rowNumber, code]),
    [
      [2, 'PARENT_FAILED'],
      [3, 'LOOKUP_NONE'],
    ],
  )
  const parent = log.find(({flowId, outcome}) => flowId === 'companies' && outcome === 'refused')!
  t.like(parent, {rowNumber: 2, code: 'RECORD_LOCKED'})
  t.true(failed[0].message.includes(`Row ${parent.rowNumber} of flow companies`) && failed[0].message.includes(`(${parent.code})`))
  const again = await run(path, {retryOf: ended.id})
  t.like(again.ended.counts.Contacts, {created: 1, inherited: 1, failed: 1})
  const stated = await prepareFiles(org, files, [companies(), contacts({onNone: 'leave'})])
  t.is((await ok(org.call('GET', stated.path), 200)).import.flows[1].fields[1].onNone, 'leave')
})

test.serial('a dry run finds the records that an earlier flow would make, regardless of the match fields', async t => {
  const files = {companies: 'name,number\nPlanned Co,Ep-1\n', people: 'last,company\nPlanned,Planned Co\n'}
  const {path} = await prepareFiles(org, files, [companies(), contacts()])
  t.like((await run(path, {dryRun: true})).ended.counts, {Accounts: {planned: 1}, Contacts: {planned: 1, failed: 0}})
  t.like((await run(path)).ended.counts, {Contacts: {created: 1, failed: 0}})
})

test.serial('a lookup that may stay empty still finds the record that an earlier flow of the import wrote', async t => {
  const files = {companies: 'name,number\nLeft Co,El-9\n', people: 'last,company\nLeft,Left Co\n'}
  const {path} = await prepareFiles(org, files, [companies(), contacts({onNone: 'leave'})])
  t.deepEqual((await run(path, {dryRun: true})).ended.linksEmpty, [])
  t.deepEqual((await run(path)).ended.linksEmpty, [])
  t.is(linkOf('Left'), here.crm.records('example', 'Accounts').find(({Account_Name}) => Account_Name === 'Left Co')!.id as string)
})
