import test from 'ava'
import {ok, openOrg, readLog, untilEnded} from '../support/importing.ts'
import {assertLinked, column, companies, people, prepareFiles, runFiles} from '../support/lookups.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['imports', 'discovery'], environment: {LEASE_SECONDS: '3'}})
  org = await openOrg(here)
})
test.afterEach.always(() => here.crm.faults.clear())

const records = (module: string, is: (record: any) => boolean): any[] => here.crm.records('example', module).filter(is)
const account = (number: string) => records('Accounts', ({Account_Number}) => Account_Number === number)[0]
const contact = (mail: string) => records('Contacts', ({Email}) => Email === mail)[0]
const logOf = (path: string, run: {id: string}) => readLog(org.call, `${path}/runs/${run.id}`)
const patches = (log: any[]) => log.filter(({phase}) => phase === 'patch').sort((a, b) => a.rowNumber - b.rowNumber)
const resultsOf = async (path: string, run: {id: string}, source: string) =>
  (await org.call('GET', `${path}/results.csv?run=${run.id}&source=${source}`)).text.trim().split('\r\n')
const byNumber = {key: {parentColumn: 'number', childColumn: 'company'}}
const puts = {method: 'PUT', path: '/crm/v8/Accounts'}

/** Returns a flow of accounts whose city is patched after all rows are written. */
const later = (patch: object, more: object = {}) =>
  companies({
    fields: [column('Account_Name', 'name'), column('Account_Number', 'number'), column('Billing_City', 'city', {patch})],
    ...more,
  })
const skipping = {match: {by: ['Account_Number'], onOne: 'skip', onMany: 'skip'}}

test.serial('a link to a row of a later flow is written once that row has its record', async t => {
  const files = {
    companies: 'name,number\nOne,Qa-1\nTwo,Qa-2\n',
    people: 'last,mail,company\nTwo,two@qa.example,Qa-2\nOne,one@qa.example,Qa-1\nNone,none@qa.example,\n',
  }
  const {run, path} = await runFiles(org, files, [people(byNumber), companies()])
  t.like(run.counts, {Contacts: {created: 3, updated: 0}, Accounts: {created: 2}})
  t.is(run.rowsWritten, 5, 'a patch counts nothing')
  t.is(contact('two@qa.example').Account_Name.id, account('Qa-2').id)
  t.is(contact('one@qa.example').Account_Name.id, account('Qa-1').id)
  const log = await logOf(path, run)
  t.deepEqual(
    patches(log).map(({rowNumber, attempt, outcome, recordId}) => [rowNumber, attempt, outcome, recordId]),
    [
      [1, 1, 'updated', contact('two@qa.example').id],
      [2, 1, 'updated', contact('one@qa.example').id],
    ],
  )
  await assertLinked(here, {run, log, rows: {companies: 2, people: 3}})
})

test.serial('flows that are parents of each other write one link with the row and the other one later', async t => {
  const files = {
    companies: 'name,number,main\nOne,Qb-1,main@qb.example\n',
    people: 'last,mail,company\nMain,main@qb.example,Qb-1\n',
  }
  const deals = {
    id: 'people',
    source: 'people',
    module: 'Accounts',
    match: {by: ['Account_Number'], onOne: 'update', onMany: 'skip', unchanged: 'write'},
    fields: [column('Account_Name', 'last'), column('Account_Number', 'mail')],
    parent: {field: 'Parent_Account', flow: 'companies', ...byNumber},
  }
  const first = companies({parent: {field: 'Parent_Account', flow: 'people', key: {parentColumn: 'mail', childColumn: 'main'}}})
  const {run} = await runFiles(org, files, [first, deals])
  t.is(run.counts.Accounts.created, 2)
  t.is(account('main@qb.example').Parent_Account.id, account('Qb-1').id)
  t.is(account('Qb-1').Parent_Account.id, account('main@qb.example').id)
})

test.serial('a row is linked to a parent further down its own flow, also in a ring of three rows', async t => {
  const csv = 'name,number,of\nFirst,Qc-1,Qc-2\nSecond,Qc-2,\nA,Qc-a,Qc-c\nB,Qc-b,Qc-a\nC,Qc-c,Qc-b\n'
  const parent = {field: 'Parent_Account', flow: 'companies', key: {parentColumn: 'number', childColumn: 'of'}}
  const {run, path} = await runFiles(org, {companies: csv}, [companies({parent})])
  const of = (number: string) => account(number).Parent_Account?.id
  t.is(of('Qc-1'), account('Qc-2').id)
  t.deepEqual([of('Qc-a'), of('Qc-b'), of('Qc-c')], [account('Qc-c').id, account('Qc-a').id, account('Qc-b').id])
  const log = await logOf(path, run)
  t.deepEqual(
    patches(log).map(({rowNumber}) => rowNumber),
    [1, 3],
  )
  await assertLinked(here, {run, log, rows: {companies: 5}})
})

for (const [onMissing, outcome] of [
  ['fail', 'failed'],
  ['skip', 'skipped'],
  ['leave', 'skipped'],
] as const) {
  test.serial(
    `a row whose later parent has no record is written under the policy ${onMissing}, and its error names the missing link`,
    async t => {
      const files = {companies: 'name,number\n,Qd-1\n', people: `last,mail,company\nLone,${onMissing}@qd.example,Qd-1\n`}
      const {run, path, ids} = await runFiles(org, files, [people({...byNumber, onMissing}), companies()])
      t.like(run.counts, {Contacts: {created: 1, failed: 0, skipped: 0}})
      t.like(patches(await logOf(path, run)), [{outcome, code: 'PARENT_FAILED', target: 'Account_Name', attempt: 0}])
      t.regex(
        (await resultsOf(path, run, ids.people!))[1]!,
        /,Written,\d+,.*Row 1 of flow companies, which this one belongs to, (was refused|failed) \(\w+\) and has no record/,
      )
    },
  )
}

for (const [when, cities] of [
  [undefined, ['New', 'New', 'Old']],
  [['created'], ['New', 'Old', 'Old']],
  [['updated'], [null, 'New', 'Old']],
  [
    ['exists', 'error'],
    [null, 'Old', 'New'],
  ],
  [
    ['created', 'updated', 'skipped'],
    ['New', 'New', 'New'],
  ],
] as const) {
  test.serial(`a row is patched according to the condition when: ${when ?? 'not set'}`, async t => {
    const mark = `Qe-${when?.join('-') ?? ''}-`
    here.crm.create(
      'example',
      'Accounts',
      [2, 3].map(n => ({Account_Name: 'There', Account_Number: `${mark}${n}`, Billing_City: 'Old'})),
    )
    const patch = when ? {when} : {}
    const files = {one: `name,number,city\nMade,${mark}1,New\nMet,${mark}2,New\n`, two: `name,number,city\nLeft,${mark}3,New\n`}
    const flows = [later(patch, {source: 'one'}), later(patch, {source: 'two', id: 'skipped', ...skipping})]
    const {run, path} = await runFiles(org, files, flows)
    t.like(run.counts.Accounts, {created: 1, updated: 1, skipped: 1})
    t.deepEqual(
      [1, 2, 3].map(n => account(`${mark}${n}`).Billing_City ?? null),
      [...cities],
    )
    t.is(run.rowsWritten, cities[2] === 'New' ? 3 : 2, 'a row that was only met counts when it is patched')
    await assertLinked(here, {run, log: await logOf(path, run), rows: {companies: 2, skipped: 1}})
  })
}

test.serial('a patch with if-absent keeps filled fields, one with always replaces them, and an empty cell changes nothing', async t => {
  const fields = (overwrite: string) => ({
    fields: [
      column('Account_Name', 'name'),
      column('Account_Number', 'number'),
      column('Billing_City', 'city', {patch: {overwrite}}),
      column('Phone', 'phone', {patch: {overwrite: 'if-absent'}}),
    ],
  })
  const outcomes: Record<string, unknown> = {}
  for (const overwrite of ['always', 'if-absent']) {
    const mark = `Qf-${overwrite}-`
    here.crm.create('example', 'Accounts', [
      {Account_Name: 'a', Account_Number: `${mark}1`, Billing_City: 'Old', Phone: '111'},
      {Account_Name: 'b', Account_Number: `${mark}2`, Billing_City: 'Old'},
      {Account_Name: 'c', Account_Number: `${mark}3`, Phone: '333'},
    ])
    const csv = `name,number,city,phone\na,${mark}1,New,999\nb,${mark}2,New,999\nc,${mark}3,New,999\nd,${mark}4,,\n`
    const {run, path} = await runFiles(org, {companies: csv}, [companies(fields(overwrite))])
    t.like(run.counts.Accounts, {updated: 3, created: 1})
    outcomes[overwrite] = [1, 2, 3, 4].map(n => [account(`${mark}${n}`).Billing_City ?? null, account(`${mark}${n}`).Phone ?? null])
    t.deepEqual(
      patches(await logOf(path, run)).map(({rowNumber}) => rowNumber),
      overwrite === 'always' ? [1, 2, 3] : [2, 3],
    )
  }
  t.deepEqual(outcomes, {
    always: [
      ['New', '111'],
      ['New', '999'],
      ['New', '333'],
      [null, null],
    ],
    'if-absent': [
      ['Old', '111'],
      ['Old', '999'],
      ['New', '333'],
      [null, null],
    ],
  })
})

test.serial('a repeated import neither sends nor logs a patch whose values the record already has', async t => {
  const match = {by: ['Account_Number'], onOne: 'update', onMany: 'skip', unchanged: 'skip'}
  const again = () => runFiles(org, {companies: 'name,number,city\nSame,Qs-1,Rome\n'}, [later({}, {match})])
  await again()
  const {run, path} = await again()
  t.like(run, {unchanged: 1, rowsWritten: 0})
  t.deepEqual(patches(await logOf(path, run)), [])
})

test.serial('a patch without an answer is sent again, and reported if it stays unanswered', async t => {
  const csv = 'name,number,city\nOne,Qg-1,New\nTwo,Qg-2,New\n'
  here.crm.faults.add({match: puts, times: 1, action: 'dropAfter'})
  const {run, path} = await runFiles(org, {companies: csv}, [later({overwrite: 'if-absent'})])
  const log = await logOf(path, run)
  t.deepEqual(
    patches(log).map(({attempt, outcome}) => `${attempt} ${outcome}`),
    ['1 unanswered', '2 updated', '1 unanswered', '2 updated'],
  )
  await assertLinked(here, {run, log, rows: {companies: 2}})
  here.crm.faults.add({match: puts, times: 3, action: 'dropBefore'})
  const silent = await runFiles(org, {companies: csv.replaceAll('Qg', 'Qh')}, [later({})])
  t.like(silent.run, {rowsWritten: 2, counts: {Accounts: {created: 2, unanswered: 0}}})
  t.regex((await resultsOf(silent.path, silent.run, silent.ids.companies!))[1]!, /,Written,\d+,The patch was not answered/)
  const {run: retried} = await retry(silent.path, silent.run.id)
  t.like(retried, {rowsWritten: 0, counts: {Accounts: {inherited: 2}}})
  t.deepEqual([account('Qh-1').Billing_City, account('Qh-2').Billing_City], ['New', 'New'], 'a retry patches what was not patched')
  const {run: again, log: said} = await retry(silent.path, retried.id)
  t.deepEqual([again.counts.Accounts.inherited, patches(said)], [2, []], 'and nothing twice')
})

const retry = async (path: string, retryOf: string) => {
  const {run} = await ok(org.call('POST', `${path}/runs`, {retryOf}), 202)
  const ended = await untilEnded(org.call, `${path}/runs/${run.id}`)
  return {run: ended, log: await logOf(path, ended)}
}

test.serial('a refused patch is shown in the Error column, and its row stays written', async t => {
  const csv = 'name,number,city\nOne,Qi-1,New\nTwo,Qi-2,New\n'
  here.crm.faults.add({match: puts, times: 1, action: {type: 'refuse', index: 1}})
  const {run, path, ids} = await runFiles(org, {companies: csv}, [later({})])
  t.like(run, {rowsWritten: 2, counts: {Accounts: {created: 2, refused: 0}}})
  const lines = await resultsOf(path, run, ids.companies!)
  t.regex(lines[1]!, /,Written,\d+,$/)
  t.regex(lines[2]!, /,Written,\d+,The patch was refused: /)
})

test.serial('a row that creates another record than it patched before patches the new record too', async t => {
  here.crm.create('example', 'Accounts', [{Account_Name: 'Met', Account_Number: 'Qt-1'}])
  const files = {companies: 'name,number,city\nMet,Qt-1,Bern\n'}
  const {run, path} = await runFiles(org, files, [later({when: ['created', 'exists']}, skipping)])
  t.is(account('Qt-1').Billing_City, 'Bern')
  here.crm.remove('example', 'Accounts', [account('Qt-1').id])
  t.like((await retry(path, run.id)).run.counts.Accounts, {created: 1})
  t.is(account('Qt-1').Billing_City, 'Bern')
})

test.serial('a row that only matched a record and whose patch is refused is not counted', async t => {
  here.crm.create('example', 'Accounts', [{Account_Name: 'Met', Account_Number: 'Qj-1'}])
  here.crm.faults.add({match: puts, times: 1, action: {type: 'refuse', index: 0}})
  const {run, path} = await runFiles(org, {companies: 'name,number,city\nMet,Qj-1,New\n'}, [later({when: ['exists']}, skipping)])
  t.like(run, {rowsWritten: 0, counts: {Accounts: {skipped: 1}}})
  t.like(patches(await logOf(path, run)), [{outcome: 'refused', attempt: 1}])
})

test.serial('rows of one record are patched one after another', async t => {
  const csv = `name,number,city\n${Array.from({length: 30}, (_, n) => `Same,Qk-1,Town ${n}`).join('\n')}\n`
  const {run} = await runFiles(org, {companies: csv}, [later({})])
  t.like(run.counts.Accounts, {created: 1, updated: 29})
  t.is(account('Qk-1').Billing_City, 'Town 29')
})

test.serial('a patched lookup finds the record that a later flow created', async t => {
  const files = {people: 'last,mail,company\nSeek,seek@ql.example,Sought Ql\n', companies: 'name,number\nSought Ql,Ql-1\n'}
  const search = column('Account_Name', 'company', {mode: 'search', searchField: 'Account_Name', patch: {}})
  const seekers = {...people({}), parent: undefined, fields: [column('Last_Name', 'last'), column('Email', 'mail'), search]}
  const {run} = await runFiles(org, files, [seekers, companies()])
  t.like(run.counts, {Contacts: {created: 1}, Accounts: {created: 1}})
  t.is(contact('seek@ql.example').Account_Name.id, account('Ql-1').id)
})

test.serial('patches that can never be applied are refused', async t => {
  const issuesOf = async (flow: Parameters<typeof prepareFiles>[2][number]) =>
    (await t.throwsAsync(prepareFiles(org, {companies: 'name,number,city\na,b,c\n'}, [flow])))!.message
  t.regex(await issuesOf(later({when: ['error', 'guarded']})), /Only rows with a record can be patched/)
  t.regex(await issuesOf(later({when: []})), /when/)
  const fields = (name: object, number: object) => ({
    fields: [column('Account_Name', 'name', name), column('Account_Number', 'number', number)],
  })
  t.regex(await issuesOf(companies(fields({patch: {}}, {}))), /cannot be created without Account_Name/)
  t.regex(await issuesOf(companies(fields({}, {patch: {}}))), /cannot be matched by Account_Number/)
})

test.serial('a dry run plans the patches that a run would send, by their rules, and sends none', async t => {
  here.crm.create('example', 'Accounts', [
    {Account_Name: 'Filled', Account_Number: 'Qz-1', Billing_City: 'Here'},
    {Account_Name: 'Empty', Account_Number: 'Qz-2'},
  ])
  const csv = 'name,number,city\nFilled,Qz-1,There\nEmpty,Qz-2,There\nNew,Qz-3,There\nNew again,Qz-4,\n'
  const before = here.crm.journal(puts).length
  const planned = async (patch: object) => {
    const {run, path} = await runFiles(org, {companies: csv}, [later(patch)], {dryRun: true})
    t.like(run.counts, {Accounts: {planned: 4}})
    return patches(await logOf(path, run)).map(({rowNumber, outcome, recordId, message}) => [rowNumber, outcome, recordId, message])
  }
  const supposed = [3, 'planned', null, 'update of the record that row 3 would make']
  const of = (number: number) => [number, 'planned', account(`Qz-${number}`).id, 'update']
  t.deepEqual(await planned({when: ['created', 'updated'], overwrite: 'always'}), [of(1), of(2), supposed])
  t.deepEqual(await planned({when: ['created', 'updated'], overwrite: 'if-absent'}), [of(2), supposed])
  t.deepEqual(await planned({when: ['created'], overwrite: 'if-absent'}), [supposed])
  t.is(here.crm.journal(puts).length, before)
})
