import test from 'ava'
import {sql} from '../../sql/database.ts'
import {ok, undoRun} from '../support/importing.ts'
import {type ExternalEngine, openExternalEngine} from '../support/record-writes.ts'
import type {TestDeployment} from '../support/test-deployment.ts'

let here: TestDeployment
let engine: ExternalEngine

test.before(async t => {
  const environment = {CRM_TIMEOUT_SECONDS: '3', CRM_LAG_SECONDS: '1'}
  engine = await openExternalEngine(t, {workers: ['discovery', 'imports', 'writes'], environment})
  here = engine.house
})

const make = (number: string) =>
  String(here.crm.create('example', 'Accounts', [{Account_Name: number, Account_Number: number}])[0]!.details.id)
const recordOf = (id: string) => here.crm.record('example', 'Accounts', id)!
const begin = async () => {
  const {path} = await engine.makeImport()
  return {path, run: await engine.authorise(1_000, {importId: path.split('/').at(-1)})}
}

test.serial('values of fields that the newest discovery lacks are written, and an undo keeps and reports them', async t => {
  const [alone, mixed] = [make('U-1'), make('U-2')]
  here.crm.addField('example', 'Accounts', {name: 'Score', type: 'integer'})
  const {path, run} = await begin()
  await ok(engine.update(run, [{rowKey: 'alone', recordId: alone, payload: {Score: 5}}]), 200)
  await ok(engine.update(run, [{rowKey: 'mixed', recordId: mixed, payload: {Score: 5, Billing_City: 'Bern'}}]), 200)
  await ok(engine.tell(run, 'progress', {done: true}), 200)
  const {run: undone, log} = await undoRun(engine.org, {path, run: {id: run}})
  t.like(undone, {stop: null, undo: {restored: 1}})
  t.deepEqual(
    log
      .filter(({phase}) => phase === 'write')
      .map(({rowKey, code}) => [rowKey, code])
      .toSorted(),
    [
      ['alone', 'UNDO_UNKNOWN'],
      ['mixed', 'RESTORED'],
    ],
  )
  t.true(log.some(({rowKey, target, code}) => rowKey === 'mixed' && target === 'Score' && code === 'UNDO_UNKNOWN'))
  t.like(recordOf(alone), {Score: 5})
  t.like(recordOf(mixed), {Score: 5, Billing_City: null})
})

test.serial(
  'a read before an update that meets an exhausted quota gives 429, and one that meets a rate limit gives 503 with `Retry-After`',
  async t => {
    const id = make('Q-1')
    const {run} = await begin()
    const update = () => engine.update(run, [{rowKey: 'q', recordId: id, payload: {Billing_City: 'Bern'}}])
    const refuse = (fault: {retryAfter: number} | {credits: number}) =>
      here.crm.faults.add({match: {method: 'GET', path: '/crm/v8/Accounts'}, times: 1, action: {type: 'rateLimit', ...fault}})
    refuse({retryAfter: 7})
    const limited = await update()
    t.like(limited, {status: 503, body: {code: 'UNAVAILABLE', written: false, crm: undefined}})
    t.is(limited.headers.get('retry-after'), '7')
    refuse({credits: 0})
    const spent = await update()
    t.like(spent, {status: 429, body: {code: 'DAILY_ALLOWANCE_SPENT', written: false, crm: undefined, results: [{rowKey: 'q', ok: false}]}})
    t.is(spent.headers.get('retry-after'), null)
    const hasLongLease = sql.unsafe`select lease_until > lading_now() + interval '23 hours' from run_heads join runs using (run_no) where id = ${run}`
    t.true(await here.db.oneFirst(hasLongLease), 'the run waits for the quota')
    await here.db.query(sql.unsafe`delete from crm_allowances`)
    t.like(await ok(update(), 200), {results: [{outcome: 'updated'}]})
  },
)
