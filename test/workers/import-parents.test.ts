import test from 'ava'
import {ok, openOrg, readLog, untilEnded} from '../support/importing.ts'
import {column, companies, people, prepareFiles, runFiles} from '../support/lookups.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['imports', 'discovery'], environment: {LEASE_SECONDS: '3'}})
  org = await openOrg(here)
})

const records = (module: string, is: (record: any) => boolean): any[] => here.crm.records('example', module).filter(is)
const account = (number: string) => records('Accounts', ({Account_Number}) => Account_Number === number)[0]
const contact = (mail: string) => records('Contacts', ({Email}) => Email === mail)[0]
const byNumber = {key: {parentColumn: 'number', childColumn: 'company'}}
const logOf = (path: string, run: {id: string}) => readLog(org.call, `${path}/runs/${run.id}`)
const resultsOf = async (path: string, run: {id: string}, source: string) =>
  (await org.call('GET', `${path}/results.csv?run=${run.id}&source=${source}`)).text.trim().split('\r\n')

test.serial('a second flow of one file links each row to the record of the first flow', async t => {
  const csv = 'name,number,last,mail\nAcme,Pa-1,Ash,ash@a.example\nBolt,Pa-2,Birch,birch@a.example\nAcme again,pa-1,Cedar,cedar@a.example\n'
  const {run} = await runFiles(org, {companies: csv}, [companies(), people({}, {source: 'companies'})])
  t.like(run.counts, {Accounts: {created: 2, updated: 1}, Contacts: {created: 3}})
  const linked = ['ash', 'birch', 'cedar'].map(name => contact(`${name}@a.example`).Account_Name.id)
  t.deepEqual(linked, [account('Pa-1')?.id ?? account('pa-1').id, account('Pa-2').id, linked[0]])
})

test.serial('a parent in another file is found by an equal key, regardless of its position', async t => {
  const files = {
    companies: 'name,number\nOne,Pb-1\nTwo,Pb-2\nTwo as well,Pb-2\n',
    people: 'last,mail,company\nOf two,two@b.example, Pb-2\nOf one,one@b.example,Pb-1\nOf none,none@b.example,\n',
  }
  const {run} = await runFiles(org, files, [companies(), people(byNumber)])
  t.like(run.counts, {Accounts: {created: 2, updated: 1}, Contacts: {created: 3, failed: 0}})
  t.is(contact('two@b.example').Account_Name.id, account('Pb-2').id)
  t.is(contact('one@b.example').Account_Name.id, account('Pb-1').id)
  t.is(contact('none@b.example').Account_Name ?? null, null, 'a row whose key is empty belongs to nobody')
})

for (const [onMissing, outcome, code] of [
  ['fail', 'failed', 'PARENT_FAILED'],
  ['skip', 'skipped', 'PARENT_FAILED'],
  ['leave', 'created', null],
] as const) {
  test.serial(`children of a parent without a record are handled by the policy ${onMissing}`, async t => {
    const mark = `Pc-${onMissing}`
    const files = {
      companies: `name,number\nKept,${mark}1\n,${mark}2\nRefused,${mark}3\nGuarded,${mark}4\n`,
      people: `last,mail,company\n${[1, 2, 3, 4, 5].map(n => `P${n},${onMissing}${n}@c.example,${mark}${n}`).join('\n')}\n`,
    }
    here.crm.faults.add({match: {method: 'POST', path: '/crm/v8/Accounts'}, times: 1, action: {type: 'refuse', index: 2}})
    const {run, path, ids} = await runFiles(org, files, [companies({guard: "row.name !== 'Guarded'"}), people({...byNumber, onMissing})])
    here.crm.faults.clear()
    const log = await logOf(path, run)
    const ends = log.filter(({flowId, phase}) => flowId === 'people' && phase === 'write').sort((a, b) => a.rowNumber - b.rowNumber)
    t.deepEqual(
      ends.map(entry => [entry.rowNumber, entry.outcome, entry.code]),
      [1, 2, 3, 4, 5].map(n => (n > 1 ? [n, outcome, code] : [n, 'created', null])),
    )
    t.is(contact(`${onMissing}1@c.example`).Account_Name.id, account(`${mark}1`).id)
    const said = (await resultsOf(path, run, ids.people!)).slice(1)
    t.regex(said[2]!, /Row 3 of flow companies, which this one belongs to, was refused \(\w+\) and has no record: /)
    t.regex(said[3]!, /Row 4 of flow companies, which this one belongs to, was skipped \(GUARDED\) and has no record: /)
    t.regex(said[4]!, /No row of flow companies has this key: /)
    if (onMissing === 'leave') t.is(contact('leave3@c.example').Account_Name ?? null, null)
  })
}

test.serial('a parent key that names two records links to neither', async t => {
  const files = {
    companies: 'name,number,group\nOne,Pd-1,g\nTwo,Pd-2,g\n',
    people: 'last,mail,company\nTorn,torn@d.example,g\n',
  }
  const {run, path} = await runFiles(org, files, [companies(), people({key: {parentColumn: 'group', childColumn: 'company'}})])
  t.like(run.counts, {Contacts: {failed: 1, created: 0}})
  t.like((await logOf(path, run)).at(-1), {code: 'PARENT_MANY', target: 'Account_Name'})
})

test.serial('children are linked to parents that already existed and were skipped', async t => {
  here.crm.create('example', 'Accounts', [{Account_Name: 'There', Account_Number: 'Pe-1'}])
  const files = {companies: 'name,number\nThere,Pe-1\n', people: 'last,mail,company\nMet,met@e.example,Pe-1\n'}
  const skip = {match: {by: ['Account_Number'], onOne: 'skip', onMany: 'skip'}}
  const {run} = await runFiles(org, files, [companies(skip), people(byNumber)])
  t.like(run, {rowsWritten: 1, counts: {Accounts: {skipped: 1}, Contacts: {created: 1}}})
  t.is(contact('met@e.example').Account_Name.id, account('Pe-1').id)
})

test.serial('a retry links a child whose parent had no record in the first run', async t => {
  const files = {companies: 'name,number\nLate,Pf-1\n', people: 'last,mail,company\nLate,late@f.example,Pf-1\n'}
  here.crm.faults.add({match: {method: 'POST', path: '/crm/v8/Accounts'}, times: 1, action: {type: 'refuse', index: 0}})
  const first = await runFiles(org, files, [companies(), people(byNumber)])
  here.crm.faults.clear()
  t.like(first.run.counts, {Accounts: {refused: 1}, Contacts: {failed: 1}})
  const {run} = await retry(first.path, first.run.id)
  t.like(run.counts, {Accounts: {created: 1}, Contacts: {created: 1}})
  t.is(contact('late@f.example').Account_Name.id, account('Pf-1').id)
})

const retry = async (path: string, retryOf: string) => {
  const {run} = await ok(org.call('POST', `${path}/runs`, {retryOf}), 202)
  return {run: await untilEnded(org.call, `${path}/runs/${run.id}`)}
}

test.serial('a dry run plans children under parents that do not exist yet', async t => {
  const files = {companies: 'name,number\nDry,Pg-1\n', people: 'last,mail,company\nDry,dry@g.example,Pg-1\nNo,no@g.example,Pg-2\n'}
  const by = {match: {by: ['Account_Name', 'Email'], onOne: 'update', onMany: 'skip', unchanged: 'write'}}
  const {run} = await runFiles(org, files, [companies(), people(byNumber, by)], {dryRun: true})
  t.like(run.counts, {Accounts: {planned: 1}, Contacts: {planned: 1, failed: 1}})
  t.is(account('Pg-1'), undefined)
})

const group = {field: 'Parent_Account', flow: 'companies', key: {parentColumn: 'number', childColumn: 'of'}}
const grouped = (more: object = {}) => companies({parent: group, ...more})

test.serial('a row waits for a parent row above it in the same flow, and rows with one parent are sent together', async t => {
  const below = Array.from({length: 250}, (_, n) => `Below ${n},Ph-1-${n},Ph-1`)
  const csv = `name,number,of\nTop,Ph-1,\n${below.join('\n')}\nDeep,Ph-3,Ph-1-249\n`
  const before = here.crm.journal({method: 'POST', path: '/crm/v8/Accounts'}).length
  const {run} = await runFiles(org, {companies: csv}, [grouped()])
  t.like(run.counts.Accounts, {created: 252, failed: 0})
  const top = account('Ph-1').id
  t.true(Array.from({length: 250}, (_, n) => account(`Ph-1-${n}`)).every(({Parent_Account}) => Parent_Account.id === top))
  t.is(account('Ph-3').Parent_Account.id, account('Ph-1-249').id)
  const calls = here.crm.journal({method: 'POST', path: '/crm/v8/Accounts'}).length - before
  t.true(calls <= 6, `${calls} calls`)
})

test.serial('a row whose parent in the same flow is refused ends as the policy says', async t => {
  const csv = 'name,number,of\nTop,Pi-1,\nBelow,Pi-2,Pi-1\nDeeper,Pi-3,Pi-2\n'
  here.crm.faults.add({match: {method: 'POST', path: '/crm/v8/Accounts'}, times: 1, action: {type: 'refuse', index: 0}})
  const {run, path} = await runFiles(org, {companies: csv}, [grouped()])
  here.crm.faults.clear()
  t.like(run.counts.Accounts, {refused: 1, failed: 2, created: 0})
  t.is(run.rowsWritten, 0)
  const messages = (await logOf(path, run)).map(({message}) => message)
  t.regex(messages[1], /^Row 1 of flow companies, which this one belongs to, was refused/)
  t.regex(messages[2], /^Row 2 of flow companies, which this one belongs to, failed/)
})

test.serial('flows with an invalid parent are refused', async t => {
  const issuesOf = async (flows: Parameters<typeof prepareFiles>[2]) => {
    const files = {companies: 'name,number,of,last,mail\na,b,c,d,e\n', people: 'last,mail,company\na,b,c\n'}
    const error = await t.throwsAsync(prepareFiles(org, files, flows))
    return error!.message
  }
  t.regex(await issuesOf([companies(), people({flow: 'nobody', ...byNumber})]), /There is no flow nobody/)
  t.regex(
    await issuesOf([companies(), people({field: 'Reporting_To', ...byNumber})]),
    /Contacts has no field Reporting_To|is not a lookup to Accounts/,
  )
  t.regex(await issuesOf([companies(), people({})]), /Set the key: the columns that link their rows/)
  t.regex(
    await issuesOf([companies(), people({key: {parentColumn: 'no', childColumn: 'nor'}})]),
    /no column \\"no\\".*no column \\"nor\\"/s,
  )
  t.regex(await issuesOf([companies({parent: {field: 'Parent_Account', flow: 'companies'}})]), /Set the key: the columns that link a row/)
  const mapped = people(byNumber, {fields: [column('Last_Name', 'last'), column('Account_Name', 'company')], match: undefined})
  t.regex(await issuesOf([companies(), mapped]), /A mapping writes this field/)
})
