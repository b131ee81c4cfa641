import test from 'ava'
import {sql} from '../../sql/database.ts'
import {accounts, type Org, ok, openOrg, prepareImport, readLog, untilEnded, untilRun} from '../support/importing.ts'
import {column, companies, people, prepareFiles, runFiles} from '../support/lookups.ts'
import {applyPlan, makePlan, rowsOf} from '../support/sealed-plans.ts'
import {lineSheet, lines, orderOf, orderSheet, orders, productsOf} from '../support/subforms.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let here: TestDeployment
let org: Org

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery', 'imports'], environment: {CRM_TIMEOUT_SECONDS: '5', CRM_LAG_SECONDS: '1'}})
  org = await openOrg(here)
})

const list = (prefix: string) =>
  here.crm.records('example', 'Accounts').filter(({Account_Number: number}) => String(number).startsWith(prefix))
const make = (records: object[]) => here.crm.create('example', 'Accounts', records as any, {as: 'ben@example.org'})

const key = {parentColumn: 'number', childColumn: 'company'}
const files = (prefix: string) => ({
  companies: `name,number\n${[1, 2, 3].map(n => `Firm ${n},${prefix}-${n}`).join('\n')}\n`,
  people: `last,mail,company\n${[1, 2, 3].map(n => `P${n},p${n}@${prefix}.example,${prefix}-${n}`).join('\n')}\n`,
})

test.serial('links to records that the plan itself creates keep to the plan, in the row and in a patch', async t => {
  for (const [prefix, order] of [
    ['sla', [companies(), people({key})]],
    ['slb', [people({key}), companies()]],
  ] as const) {
    make([{Account_Name: 'Old', Account_Number: `${prefix}-1`, Billing_City: 'Old'}])
    const {path} = await prepareFiles(org, files(prefix), [...order])
    const dry = await makePlan(org, path)
    const run = await applyPlan(org.call, path, dry.run.id)
    t.like(run, {stop: null, planStale: 0})
    const log = await readLog(org.call, `${path}/runs/${run.id}`)
    t.deepEqual(
      log.filter(({outcome}) => !['created', 'updated'].includes(outcome)),
      [],
    )
    const contacts = here.crm.records('example', 'Contacts').filter(({Email: mail}) => String(mail).endsWith(`@${prefix}.example`))
    const linked = contacts.map(({Account_Name: link}) => (link as any)?.id).sort()
    t.deepEqual(
      linked,
      list(prefix)
        .map(({id}) => id)
        .sort(),
    )
  }
})

test.serial('a row whose parent differs from the plan is not written, and a retry does not write it under another parent', async t => {
  const {path} = await prepareFiles(org, files('slc'), [companies(), people({key})])
  const dry = await makePlan(org, path)
  make([{Account_Name: 'Ben', Account_Number: 'slc-2', Billing_City: 'Ben'}])
  const run = await applyPlan(org.call, path, dry.run.id)
  const log = await readLog(org.call, `${path}/runs/${run.id}`)
  t.is(run.planStale, 2)
  const retry = await ok(org.call('POST', `${path}/runs`, {retryOf: run.id}), 202)
  t.like(await untilEnded(org.call, `${path}/runs/${retry.run.id}`), {planOf: dry.run.id, planStale: 2})
  for (const flow of ['companies', 'people'])
    t.deepEqual(
      rowsOf(
        log.filter(({flowId}) => flowId === flow),
        ({code}) => code === 'PLAN_STALE',
      ),
      [2],
    )
})

test.serial('the subform rows of a record that was changed since are not replaced, and those of other records are', async t => {
  const sheets = (mark: string) => ({
    orders: orderSheet(['Sv-1', 'Sv-2', 'Sv-3']),
    lines: lineSheet([
      ['Sv-1', `A${mark}`],
      ['Sv-1', 'B'],
      ['Sv-2', `C${mark}`],
      ['Sv-3', `D${mark}`],
    ]),
  })
  await runFiles(org, sheets(''), [orders(), lines()])
  const {path} = await prepareFiles(org, sheets('2'), [orders(), lines()])
  const dry = await makePlan(org, path)
  here.crm.clock.advance(3_000)
  here.crm.update('example', 'Orders', [{id: orderOf(here, 'Sv-2').id, Name: 'Ben'}], {as: 'ben@example.org'})
  const run = await applyPlan(org.call, path, dry.run.id)
  const log = await readLog(org.call, `${path}/runs/${run.id}`)
  t.deepEqual(
    rowsOf(
      log.filter(({flowId}) => flowId === 'lines'),
      ({code}) => code === 'PLAN_STALE',
    ),
    [3],
  )
  t.deepEqual(
    ['Sv-1', 'Sv-2', 'Sv-3'].map(code => productsOf(here, code)),
    [['A2', 'B'], ['C'], ['D2']],
  )
  t.is(orderOf(here, 'Sv-2').Name, 'Ben')
})

test.serial('the subform rows of a record that was changed while the run waited for it are not replaced', async t => {
  const of = (mark: string) => [['Sz-1', `A${mark}`] as const, ['Sz-2', `B${mark}`] as const]
  await runFiles(org, {orders: orderSheet(['Sz-1', 'Sz-2']), lines: lineSheet(of(''))}, [orders(), lines()])
  const {path} = await prepareFiles(org, {orders: orderSheet(['Sz-1', 'Sz-2']), lines: lineSheet(of('2'))}, [orders(), lines()])
  const dry = await makePlan(org, path)
  const {id} = orderOf(here, 'Sz-2')
  await here.db.query(sql.unsafe`
    insert into replacements (dc, crm_org_id, parent_id, run_no, fence, until)
    select dc, crm_org_id, ${id}, (select max(run_no) from runs), 99, lading_now() + interval '5 minutes'
    from connectors where id = ${org.connector}`)
  const {run} = await ok(org.call('POST', `${path}/runs`, {planOf: dry.run.id}), 202)
  await untilRun(org.call, `${path}/runs/${run.id}`, ({counts}) => counts.Order_Lines?.updated === 1)
  here.crm.clock.advance(3_000)
  here.crm.update('example', 'Orders', [{id, Name: 'Ben'}], {as: 'ben@example.org'})
  await here.db.query(sql.unsafe`delete from replacements where parent_id = ${id}`)
  t.like(await untilEnded(org.call, `${path}/runs/${run.id}`), {planStale: 1, counts: {Order_Lines: {updated: 1, skipped: 1}}})
  t.deepEqual([productsOf(here, 'Sz-1'), productsOf(here, 'Sz-2')], [['A2'], ['B']])
})

test.serial('a patch of an unchanged record is not stale because another row of the run patched the record', async t => {
  make([{Account_Name: 'One', Account_Number: 'Su-1', Billing_City: 'Old'}])
  const [name, number] = accounts.fields
  const flow = companies({
    match: {...accounts.match, unchanged: 'skip'},
    fields: [name, number, column('Billing_City', 'city', {patch: {}})],
  })
  const {path} = await prepareFiles(org, {companies: 'name,number,city\nOne,Su-1,Bern\nOne,Su-1,Basel\n'}, [flow])
  const dry = await makePlan(org, path)
  here.crm.clock.advance(3_000)
  const run = await applyPlan(org.call, path, dry.run.id)
  t.like(run, {planStale: 0, unchanged: 2})
  const patched = (await readLog(org.call, `${path}/runs/${run.id}`)).filter(({phase}) => phase === 'patch')
  t.deepEqual(
    patched.map(({outcome}) => outcome),
    ['updated', 'updated'],
  )
  t.is(list('Su-')[0]!.Billing_City, 'Basel')
})

test.serial('a plan that deletes leaves records that were changed since', async t => {
  make([1, 2, 3].map(n => ({Account_Name: 'Old', Account_Number: `Sy-${n}`, Billing_City: 'Old'})))
  const flow = {module: 'Accounts', action: 'delete', match: {by: ['Account_Number']}, fields: [accounts.fields[1]]}
  const {path} = await prepareImport(org, {csv: 'number\nSy-1\nSy-2\nSy-3\n', flow})
  const dry = await makePlan(org, path)
  here.crm.clock.advance(3_000)
  const second = list('Sy-').find(({Account_Number: number}) => number === 'Sy-2')!
  here.crm.update('example', 'Accounts', [{id: String(second.id), Billing_City: 'Ben'}], {as: 'ben@example.org'})
  t.like(await org.call('POST', `${path}/runs`, {planOf: dry.run.id}), {status: 409, body: {code: 'DELETES_UNCONFIRMED'}})
  const run = await applyPlan(org.call, path, dry.run.id, {confirmDeletes: 3})
  t.like(run, {deleted: 2, planStale: 1})
  t.deepEqual(
    list('Sy-').map(({Account_Number: number}) => number),
    ['Sy-2'],
  )
})

test.serial('a row whose record another row of the plan deletes is reported as gone', async t => {
  make([{Account_Name: 'Old', Account_Number: 'Sx-1', Billing_City: 'Old'}])
  const flow = {module: 'Accounts', action: 'delete', match: {by: ['Account_Number']}, fields: [accounts.fields[1]]}
  const {path} = await prepareImport(org, {csv: 'number\nSx-1\nSx-1\n', flow})
  const dry = await makePlan(org, path)
  const run = await applyPlan(org.call, path, dry.run.id, {confirmDeletes: 1})
  t.like(run, {deleted: 1, planStale: 0})
  t.deepEqual(
    rowsOf(await readLog(org.call, `${path}/runs/${run.id}`), ({code}) => code === 'GONE'),
    [2],
  )
})

test.serial('a run with a plan cannot select rows, be a dry run, or use a plan of another import', async t => {
  const {path} = await prepareImport(org, {csv: 'name,number,city\nA,Sw-1,X\n', flow: accounts})
  const {run} = await makePlan(org, path)
  for (const body of [{rows: {from: 1, to: 1}}, {dryRun: true}])
    t.like(await org.call('POST', `${path}/runs`, {planOf: run.id, ...body}), {status: 400, body: {code: 'INVALID'}})
  const other = await prepareImport(org, {csv: 'name,number,city\nA,Sw-1,X\n', flow: accounts})
  t.like(await org.call('POST', `${other.path}/runs`, {planOf: run.id}), {status: 404, body: {code: 'RUN_NOT_FOUND'}})
  const written = await applyPlan(org.call, path, run.id)
  t.like(await org.call('POST', `${path}/runs/${written.id}/seal`), {status: 409, body: {code: 'NOT_A_DRY_RUN'}})
  t.deepEqual(await ok(org.call('GET', `${path}/runs/${written.id}/seal`), 200), {plan: null})
})
