import {z} from 'zod'
import {sql, type Tx} from './database.ts'

const UnsentRow = z.object({
  module: z.number(),
  flow: z.number().nullable(),
  key: z.string(),
  number: z.number().nullable(),
  code: z.string().nullable(),
  message: z.string(),
})
/** A submitted row that was not sent, with the reason. `module`, `flow`: their numbers in the run. */
export type UnsentRow = z.infer<typeof UnsentRow>

/** A row that is stored already gets the new reason. */
export const keepUnsentRows = (tx: Tx, {run, rows}: {run: number; rows: UnsentRow[]}) =>
  tx.query(sql.type(z.object({}))`
    insert into unsent_rows (run_no, module_no, row_key, flow_no, row_number, code, message)
    select distinct on (module, key) ${run}, module, key, flow, number, code, message
    from jsonb_to_recordset(${sql.jsonb(rows)}) as r(module int2, key text, flow int2, number int, code text, message text)
    order by module, key
    on conflict (run_no, module_no, row_key) do update
      set flow_no = excluded.flow_no, row_number = excluded.row_number, code = excluded.code, message = excluded.message`)

/**
 * Removes up to `limit` unsent rows of a run from the table and returns them. `isOpen`: the row was never sent, and its engine reported
 * nothing about it.
 */
export const takeUnsentRows = (tx: Tx, {run, limit}: {run: number; limit: number}) =>
  tx.any(sql.type(UnsentRow.extend({isOpen: z.boolean()}))`
    with taken as (
      delete from unsent_rows where ctid = any(array(select ctid from unsent_rows where run_no = ${run} order by module_no, row_key limit ${limit}))
      returning *)
    select module_no as module, flow_no as flow, row_key as key, row_number as number, code, message,
      not exists (select from admissions a where a.run_no = ${run} and a.module_no = t.module_no and a.row_key = t.row_key)
        and not exists (select from released_attempts f where f.run_no = ${run} and f.module_no = t.module_no and f.row_key = t.row_key)
        as "isOpen"
    from taken t order by module, row_number, key`)
