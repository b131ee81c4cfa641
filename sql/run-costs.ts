import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

const Cost = z.object({operation: z.string(), calls: z.number(), credits: z.number()})
export type OperationCost = z.infer<typeof Cost>

/** Adds costs to those of the run. Returns the id of the transaction for `findFate`. */
export const addRunCosts = (tx: Tx, {run, costs}: {run: number; costs: readonly OperationCost[]}) => {
  const numbers = (name: 'calls' | 'credits') =>
    sql.array(
      costs.map(cost => cost[name]),
      'int8',
    )
  const operations = sql.array(
    costs.map(({operation}) => operation),
    'text',
  )
  return tx.oneFirst(sql.type(z.object({id: z.string()}))`
    with added as (
      insert into run_costs as c (run_no, operation, calls, credits)
      select ${run}, operation, calls, credits from unnest(${operations}, ${numbers('calls')}, ${numbers('credits')}) as t(operation, calls, credits)
      where exists (select from runs where run_no = ${run})
      on conflict (run_no, operation) do update set calls = c.calls + excluded.calls, credits = c.credits + excluded.credits)
    select pg_current_xact_id()::text as id`)
}

/**
 * Returns whether a transaction was committed. Null: the transaction is too old for Postgres to know. If Postgres has not assigned the id yet,
 * returns `aborted`, because a failover lost the transaction.
 */
export const findFate = (db: Db, transaction: string) =>
  db.oneFirst(sql.type(z.object({fate: z.enum(['in progress', 'committed', 'aborted']).nullable()}))`
    select case when ${transaction}::xid8 < pg_current_xact_id() then pg_xact_status(${transaction}::xid8) else 'aborted' end as fate`)
