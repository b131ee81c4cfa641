import {z} from 'zod'
import {type Db, sql} from './database.ts'

const Accepted = z.object({column: z.string(), field: z.string(), times: z.number()})

/**
 * Lists the pairs of column and field that the org mapped for the module in mode `column`, most frequent pair first, at most 2,000. Reads the
 * newest hundred imports of the connection that left the draft state, and the newest hundred shared templates for this or any connection.
 */
export const listAcceptedMappings = (db: Db, {org, connector, module}: {org: string; connector: string; module: string}) =>
  db.any(sql.type(Accepted)`
    with kept as (
      (select flows from imports where org_id = ${org} and connector_id = ${connector} and not deleted and state <> 'draft' order by id desc limit 100)
      union all
      (select flows from templates where org_id = ${org} and shared and coalesce(connector_id, ${connector}) = ${connector} order by id desc limit 100))
    select mapping ->> 'source' as column, mapping ->> 'field' as field, count(*) as times
    from kept cross join lateral jsonb_array_elements(flows) flow cross join lateral jsonb_array_elements(flow -> 'fields') mapping
    where flow ->> 'module' = ${module} and coalesce(mapping ->> 'mode', 'column') = 'column'
      and mapping ->> 'source' is not null and mapping ->> 'field' is not null
    group by 1, 2 order by count(*) desc, 1, 2 limit 2000`)
