import {z} from 'zod'
import {type Db, sql} from './database.ts'

const Pace = z.object({operation: z.string(), p50Ms: z.number(), p95Ms: z.number()})
/** The time that one kind of call takes: the median and the 95th percentile, in ms. */
export type CrmPace = z.infer<typeof Pace>

export const listPaces = (db: Db, connector: string) =>
  db.any(sql.type(Pace)`
    select operation, p50_ms::float8 as "p50Ms", p95_ms::float8 as "p95Ms" from crm_paces where connector_id = ${connector}`)

/** Upserts measured paces. Stores the mean of the old and the new pace, so that the stored pace follows the CRM within a few measurements. */
export const storePaces = (db: Db, paces: readonly (CrmPace & {connector: string})[]) => {
  const numbers = (name: 'p50Ms' | 'p95Ms') =>
    sql.array(
      paces.map(pace => pace[name]),
      'float8',
    )
  const texts = (name: 'connector' | 'operation') =>
    sql.array(
      paces.map(pace => pace[name]),
      'text',
    )
  return db.query(sql.type(z.object({}))`
    insert into crm_paces as p (connector_id, operation, p50_ms, p95_ms)
    select connector, operation, p50, p95
    from unnest(${texts('connector')}, ${texts('operation')}, ${numbers('p50Ms')}, ${numbers('p95Ms')}) as t(connector, operation, p50, p95)
    where exists (select from connectors c where c.id = connector)
    order by connector, operation
    on conflict (connector_id, operation) do update set p50_ms = (p.p50_ms + excluded.p50_ms) / 2, p95_ms = (p.p95_ms + excluded.p95_ms) / 2,
      learnt_at = lading_now()`)
}
