import {z} from 'zod'
import {type Db, sql} from './database.ts'

type RecentQuery = {dc: string; crmOrgId: string; run: number; seconds: number}

/**
 * Whether another run of the CRM org is authorised or open, or ended within the last `seconds`. Dry runs do not count. Reads only the last ended run
 * of each connection. For `ended_at > now - seconds`, Postgres would expect a third of all runs and use no index.
 */
export const isWrittenRecently = (db: Db, {dc, crmOrgId, run, seconds}: RecentQuery): Promise<boolean> =>
  db.oneFirst(sql.type(z.object({is: z.boolean()}))`
    select exists (
      select from connectors c join runs r on r.connector_id = c.id and r.ended_at is null
      where c.dc = ${dc} and c.crm_org_id = ${crmOrgId} and r.run_no <> ${run} and not r.dry_run
    ) or exists (
      select from connectors c where c.dc = ${dc} and c.crm_org_id = ${crmOrgId} and (
        select ended_at from runs r where r.connector_id = c.id and r.ended_at is not null and not r.dry_run and r.run_no <> ${run}
        order by ended_at desc limit 1
      ) > lading_now() - make_interval(secs => ${seconds})
    ) as is`)
