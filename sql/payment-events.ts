import {z} from 'zod'
import {sql, type Tx} from './database.ts'

/** What came while somebody held the org's billing. */
export const listDeferredEvents = (tx: Tx, org: string) =>
  tx.anyFirst(
    sql.type(
      z.object({id: z.string()}),
    )`select id from payment_events where org_id = ${org} and status = 'deferred' order by created_at, id`,
  )
