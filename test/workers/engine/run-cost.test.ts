import test from 'ava'
import {z} from 'zod'
import type {Log} from '../../../shared/telemetry/log.ts'
import {sql} from '../../../sql/database.ts'
import {openRunCost} from '../../../workers/engine/run-cost.ts'
import {beginRun, openLedger} from '../../support/running.ts'

const Cost = z.object({operation: z.string(), calls: z.number(), credits: z.number()})

test('the cost of calls that could not be stored is stored with the next ones', async t => {
  const here = await openLedger('run-cost')
  t.teardown(here.close)
  const {run: no} = await beginRun(here)
  const warned = Promise.withResolvers<void>()
  const log = {warn: () => warned.resolve()} as unknown as Log
  const cost = openRunCost({db: here.db, run: {no} as Parameters<typeof openRunCost>[0]['run'], log})
  await here.db.query(sql.unsafe`alter table run_costs rename to run_costs_away`)
  cost.note({operation: 'create', credits: 10, ms: 5})
  cost.note({operation: 'query', credits: 1, ms: 5})
  await warned.promise
  await here.db.query(sql.unsafe`alter table run_costs_away rename to run_costs`)
  cost.note({operation: 'create', credits: 10, ms: 5})
  await cost.close()
  t.deepEqual(await here.db.any(sql.type(Cost)`select operation, calls, credits from run_costs where run_no = ${no} order by 1`), [
    {operation: 'create', calls: 2, credits: 20},
    {operation: 'query', calls: 1, credits: 1},
  ])
})
