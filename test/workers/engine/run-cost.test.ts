import test, {type ExecutionContext} from 'ava'
import {z} from 'zod'
import type {Log} from '../../../shared/telemetry/log.ts'
import {openDatabase, sql} from '../../../sql/database.ts'
import {openRunCost} from '../../../workers/engine/run-cost.ts'
import {openPostgresProxy} from '../../support/postgres-proxy.ts'
import {beginRun, openLedger} from '../../support/running.ts'
import {until} from '../../support/until.ts'

const Cost = z.object({operation: z.string(), calls: z.number(), credits: z.number()})
const created = {operation: 'create', calls: 1, credits: 10}
const queried = {operation: 'query', calls: 1, credits: 1}

/** Opens the cost of a run. `warned`: resolves at the first cost that could not be stored. */
const open = async (t: ExecutionContext, label: string) => {
  const here = await openLedger(label)
  t.teardown(here.close)
  const proxy = await openPostgresProxy(here.url)
  t.teardown(proxy.close)
  const db = await openDatabase(proxy.url, {connections: 1})
  t.teardown(() => db.end())
  const {run: no} = await beginRun(here)
  const warned = Promise.withResolvers<void>()
  const log = {warn: () => warned.resolve()} as unknown as Log
  const cost = openRunCost({db, run: {no} as Parameters<typeof openRunCost>[0]['run'], log})
  const stored = () => here.db.any(sql.type(Cost)`select operation, calls, credits from run_costs where run_no = ${no} order by 1`)
  return {here, proxy, warned: warned.promise, cost, stored}
}

test('the cost of calls that could not be stored is stored with the next ones', async t => {
  const {here, warned, cost, stored} = await open(t, 'run-cost')
  await here.db.query(sql.unsafe`alter table run_costs rename to run_costs_away`)
  cost.note({operation: 'create', credits: 10, ms: 5})
  cost.note({operation: 'query', credits: 1, ms: 5})
  await warned
  await here.db.query(sql.unsafe`alter table run_costs_away rename to run_costs`)
  cost.note({operation: 'create', credits: 10, ms: 5})
  await cost.close()
  t.deepEqual(await stored(), [{operation: 'create', calls: 2, credits: 20}, queried])
})

test('the last costs of a run are stored by a second try', async t => {
  const {here, warned, cost, stored} = await open(t, 'run-cost-close')
  await here.db.query(sql.unsafe`alter table run_costs rename to run_costs_away`)
  cost.note({operation: 'create', credits: 10, ms: 5})
  const closed = cost.close()
  await warned
  await here.db.query(sql.unsafe`alter table run_costs_away rename to run_costs`)
  await closed
  t.deepEqual(await stored(), [created])
})

test('costs are stored again if the connection was lost before their commit', async t => {
  const {here, warned, cost, stored} = await open(t, 'run-cost-lost')
  const blocker = await here.hot.connect()
  await blocker.query('begin; lock table run_costs in exclusive mode')
  cost.note({operation: 'create', credits: 10, ms: 5})
  await until(
    () =>
      here.db.any(sql.unsafe`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%run_costs%'`),
    ended => ended.length > 0,
  )
  await warned
  await blocker.query('rollback')
  blocker.release()
  cost.note({operation: 'query', credits: 1, ms: 5})
  await cost.close()
  t.deepEqual(await stored(), [created, queried])
})

test('costs whose commit got no answer are stored once', async t => {
  const {proxy, warned, cost, stored} = await open(t, 'run-cost-answer')
  proxy.lose('insert into run_costs', {when: 'commit'})
  cost.note({operation: 'create', credits: 10, ms: 5})
  await warned
  t.is(proxy.lost('insert into run_costs'), 1)
  cost.note({operation: 'query', credits: 1, ms: 5})
  await cost.close()
  t.deepEqual(await stored(), [created, queried])
})

test('costs whose commit failed without a clear answer are stored again', async t => {
  const {here, warned, cost, stored} = await open(t, 'run-cost-rolled-back')
  await here.hot.query(`
    create function end_server() returns trigger language plpgsql as $$ begin raise exception 'shutting down' using errcode = '57P01'; end $$;
    create constraint trigger fail after insert on run_costs deferrable initially deferred for each row execute function end_server()`)
  cost.note({operation: 'create', credits: 10, ms: 5})
  await warned
  await here.hot.query('drop trigger fail on run_costs')
  await cost.close()
  t.deepEqual(await stored(), [created])
})
