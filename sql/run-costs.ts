import {z} from 'zod'
import {type Db, sql} from './database.ts'

const Cost = z.object({operation: z.string(), calls: z.number(), credits: z.number()})
export type OperationCost = z.infer<typeof Cost>

export const addRunCosts = (db: Db, {run, costs}: {run: number; costs: readonly OperationCost[]}) => {
  const numbers = (name: 'calls' | 'credits') =>
    sql.array(
      costs.map(cost => cost[name]),
      'int8',
    )
  const operations = sql.array(
    costs.map(({operation}) => operation),
    'text',
  )
  return db.query(sql.type(z.object({}))`
    insert into run_costs as c (run_no, operation, calls, credits)
    select ${run}, operation, calls, credits from unnest(${operations}, ${numbers('calls')}, ${numbers('credits')}) as t(operation, calls, credits)
    where exists (select from runs where run_no = ${run})
    on conflict (run_no, operation) do update set calls = c.calls + excluded.calls, credits = c.credits + excluded.credits`)
}
