import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'
import {groundOfForecast} from './ground.ts'

const Stored = z.object({forecast: z.record(z.string(), z.json()), madeAt: z.string(), stale: z.boolean(), old: z.boolean()})

/**
 * Finds the import's last forecast, or null. `stale`: an input changed since, such as a file, a flow or the CRM's fields. `old`: the forecast is older
 * than five minutes, so that other runs may have used the CRM quota, or a dry run has ended since, which narrows the range.
 */
export const findForecast = (db: Db, {importNo, discovery}: {importNo: number; discovery: string | null}) =>
  db.maybeOne(sql.type(Stored)`
    select forecast, made_at as "madeAt", ground <> ${groundOfForecast} or discovery_id is distinct from ${discovery} as stale,
      made_at < lading_now() - interval '5 minutes' or exists (
        select from runs r where r.import_no = i.import_no and r.dry_run and r.undo_of is null and r.ended_at > made_at) as old
    from forecasts join imports i using (import_no) where import_no = ${importNo}`)

export const findForecastGround = (db: Db, importNo: number) =>
  db.oneFirst(sql.type(z.object({ground: z.string()}))`select ${groundOfForecast} as ground from imports i where i.import_no = ${importNo}`)

type NewForecast = {importNo: number; ground: string; discovery: string; forecast: object}

export const replaceForecast = (tx: Tx, {importNo, ground, discovery, forecast}: NewForecast) =>
  tx.query(sql.type(z.object({}))`
    insert into forecasts (import_no, ground, discovery_id, forecast) values (${importNo}, ${ground}, ${discovery}, ${sql.jsonb(forecast as never)})
    on conflict (import_no) do update set ground = excluded.ground, discovery_id = excluded.discovery_id, made_at = lading_now(),
      forecast = excluded.forecast`)

/**
 * Stores the import's forecast with a run that starts and executes against the fields of `discovery`, unless an input changed since the forecast. A
 * forecast is of all rows, so the run must read every row and may not be a retry.
 */
export const keepRunForecast = (tx: Tx, {run, importNo, discovery}: {run: number; importNo: number; discovery: string}) =>
  tx.query(sql.type(z.object({}))`
    insert into run_forecasts (run_no, forecast)
    select ${run}, forecast from forecasts join imports i using (import_no)
    where import_no = ${importNo} and ground = ${groundOfForecast} and discovery_id = ${discovery}`)
