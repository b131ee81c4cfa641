import test from 'ava'
import {openOrg, readLog} from '../support/importing.ts'
import {accountOf, column, companies, runFiles} from '../support/lookups.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['imports', 'discovery'], environment: {LEASE_SECONDS: '3'}})
  org = await openOrg(here)
})

test.serial('a field that the condition excludes for a row keeps no other field of the row from being patched', async t => {
  const csv = 'name,number,city,staff,phone\nNew,Qy-1,Bern,many,none\nMet,Qy-2,Bern,12,none\nBad,Qy-3,Bern,many,none\n'
  here.crm.create(
    'example',
    'Accounts',
    [2, 3].map(n => ({Account_Name: 'There', Account_Number: `Qy-${n}`})),
  )
  const updated = {patch: {when: ['updated']}}
  const fields = [
    column('Account_Name', 'name'),
    column('Account_Number', 'number'),
    column('Billing_City', 'city', {patch: {}}),
    column('Employees', 'staff', {...updated, transform: 'value'}),
    column('Phone', 'phone', {...updated, values: [{from: 'one', to: '1'}], otherwise: 'empty'}),
  ]
  const {run, path} = await runFiles(org, {companies: csv}, [companies({fields})])
  t.deepEqual(
    ['Qy-1', 'Qy-2', 'Qy-3'].map(number => [accountOf(here, number).Billing_City ?? null, accountOf(here, number).Employees ?? null]),
    [
      ['Bern', null],
      ['Bern', 12],
      [null, null],
    ],
  )
  const log = await readLog(org.call, `${path}/runs/${run.id}`)
  const patches = log.filter(({phase}) => phase === 'patch').sort((a, b) => a.rowNumber - b.rowNumber)
  t.deepEqual(
    patches.map(({outcome, message}) => [outcome, /Phone has no value/.test(message ?? '')]),
    [
      ['updated', false],
      ['updated', true],
      ['failed', false],
    ],
  )
  t.deepEqual(run.unmapped, [{flowId: 'companies', field: 'Phone', cells: 2}])
})

const ifAbsent = companies({
  fields: [column('Account_Name', 'name'), column('Account_Number', 'number'), column('Phone', 'phone', {patch: {overwrite: 'if-absent'}})],
})
const puts = {method: 'PUT', path: '/crm/v8/Accounts'}

test.serial('a field that may only be filled keeps the value that an earlier row of the run gave to the record', async t => {
  const csv = 'name,number,phone\nOne,Qx-1,111\nOne,Qx-1,222\nTwo,Qx-2,\nTwo,Qx-2,333\n'
  const patchesOf = async (start: object) => {
    const {run, path} = await runFiles(org, {companies: csv}, [ifAbsent], start)
    const log = await readLog(org.call, `${path}/runs/${run.id}`)
    const patches = log.filter(({phase}) => phase === 'patch')
    return patches.map(({rowNumber, outcome}) => `${rowNumber} ${outcome}`).sort()
  }
  t.deepEqual(await patchesOf({dryRun: true}), ['1 planned', '4 planned'])
  t.deepEqual(await patchesOf({}), ['1 updated', '4 updated'])
  t.deepEqual([accountOf(here, 'Qx-1').Phone, accountOf(here, 'Qx-2').Phone], ['111', '333'])
})

test.serial('a later row fills a field if the patch of an earlier row is refused', async t => {
  here.crm.create('example', 'Accounts', [{Account_Name: 'One', Account_Number: 'Qw-1'}])
  here.crm.faults.add({match: {...puts, nth: 3}, times: 1, action: {type: 'refuse', index: 0}})
  await runFiles(org, {companies: 'name,number,phone\nOne,Qw-1,111\nOne,Qw-1,222\n'}, [ifAbsent])
  t.is(accountOf(here, 'Qw-1').Phone, '222')
})
