import {z} from 'zod'
import type {CrmOrg} from './allowances.ts'
import {type Db, sql, type Tx} from './database.ts'

const Empty = z.object({})

const Hold = z.object({isHeld: z.boolean(), leftMs: z.number().nullable()})

type Held = {write: string; parent: string; seconds: number}

/**
 * The parent is this write's alone for so long: nobody else reads or replaces its rows. Not while another write has it, of whichever run;
 * `leftMs` is then how long a call nobody heard the end of may still be at them, null where the other is under way.
 */
export const holdParent = (db: Db, {dc, crmOrgId}: CrmOrg, {write, parent, seconds}: Held) =>
  db.one(sql.type(Hold)`
    with held as (
      insert into replacements as r (dc, crm_org_id, parent_id, write, until)
      values (${dc}, ${crmOrgId}, ${parent}, ${write}, lading_now() + make_interval(secs => ${seconds}))
      on conflict (dc, crm_org_id, parent_id) do update set write = excluded.write, until = excluded.until, lost = false
        where r.until <= lading_now() or (r.write = excluded.write and not r.lost)
      returning 1)
    select exists (select from held) as "isHeld", (
      select 1000 * extract(epoch from until - lading_now())::float8 from replacements
      where dc = ${dc} and crm_org_id = ${crmOrgId} and parent_id = ${parent} and lost and until > lading_now()) as "leftMs"`)

/** Nobody heard the end of the call: for so long the parents are still nobody else's. */
export const loseParents = (tx: Tx, {write, parents, seconds}: {write: string; parents: string[]; seconds: number}) =>
  tx.query(sql.type(Empty)`
    update replacements set lost = true, until = lading_now() + make_interval(secs => ${seconds})
    where write = ${write} and parent_id = any(${sql.array(parents, 'text')})`)

export const releaseParents = (tx: Tx, {write, parents}: {write: string; parents: string[]}) =>
  tx.query(sql.type(Empty)`delete from replacements where write = ${write} and not lost and parent_id = any(${sql.array(parents, 'text')})`)

/** All that the write still has and is not going to send. */
export const releaseWrite = (db: Db, write: string) =>
  db.query(sql.type(Empty)`delete from replacements where write = ${write} and not lost`)
