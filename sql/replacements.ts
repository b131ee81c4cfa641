import {z} from 'zod'
import type {CrmOrg} from './allowances.ts'
import {type Db, sql, type Tx} from './database.ts'

const Empty = z.object({})

const Hold = z.object({parent: z.string(), isHeld: z.boolean(), leftMs: z.number().nullable()})

/** Who replaces: a request of an outside engine, or a run of an import under the fence of its owner. */
type Holder = {write: string; run?: null; fence?: null} | {write?: null; run: number; fence: number}

type Held = {holder: Holder; parents: string[]; seconds: number}

/**
 * The parents are this holder's alone for so long: nobody else reads or replaces their rows. Not those another holder has, of whichever run;
 * `leftMs` is then how long a call nobody heard the end of may still be at them, null where the other is under way. One for each parent.
 */
export const holdParents = (db: Db, {dc, crmOrgId}: CrmOrg, {holder: {write = null, run = null, fence = null}, parents, seconds}: Held) =>
  db.any(sql.type(Hold)`
    with held as (
      insert into replacements as r (dc, crm_org_id, parent_id, write, run_no, fence, until)
      select ${dc}, ${crmOrgId}, parent, ${write}, ${run}::bigint, ${fence}::bigint, lading_now() + make_interval(secs => ${seconds})
      from unnest(${sql.array(parents, 'text')}) as parent order by parent
      on conflict (dc, crm_org_id, parent_id) do update
        set write = excluded.write, run_no = excluded.run_no, fence = excluded.fence, until = excluded.until, lost = false
        where r.until <= lading_now()
          or (not r.lost and (r.write = excluded.write or (r.run_no = excluded.run_no and r.fence = excluded.fence)))
      returning parent_id)
    select parent, parent in (select parent_id from held) as "isHeld", (
      select 1000 * extract(epoch from until - lading_now())::float8 from replacements
      where dc = ${dc} and crm_org_id = ${crmOrgId} and parent_id = parent and lost and until > lading_now()) as "leftMs"
    from unnest(${sql.array(parents, 'text')}) as parent`)

type Named = {holder: Holder; parents: string[]}

/** Nobody heard the end of the call: for so long the parents are still nobody else's. */
export const loseParents = (db: Db, {holder, parents, seconds}: Named & {seconds: number}) =>
  db.query(sql.type(Empty)`
    update replacements set lost = true, until = lading_now() + make_interval(secs => ${seconds})
    where ${heldBy(holder)} and parent_id = any(${sql.array(parents, 'text')})`)

export const releaseParents = (db: Db, {holder, parents}: Named) =>
  db.query(
    sql.type(Empty)`delete from replacements where ${heldBy(holder)} and not lost and parent_id = any(${sql.array(parents, 'text')})`,
  )

/** All that the holder still has and is not going to send. */
export const releaseAll = (db: Db, holder: Holder) =>
  db.query(sql.type(Empty)`delete from replacements where ${heldBy(holder)} and not lost`)

const heldBy = ({write = null, run = null, fence = null}: Holder) =>
  write === null ? sql.fragment`run_no = ${run} and fence = ${fence}` : sql.fragment`write = ${write}`

/** What earlier owners of the run had is not known to have been sent, or not: its calls may be under way for so long. */
export const loseEarlier = (db: Db, {run, fence, seconds}: {run: number; fence: number; seconds: number}) =>
  db.query(sql.type(Empty)`
    update replacements set lost = true, until = least(until, lading_now() + make_interval(secs => ${seconds}))
    where run_no = ${run} and fence < ${fence} and not lost`)

/** At a run's end: those whose calls may still be under way stay until then. */
export const releaseRun = (tx: Tx | Db, run: number) =>
  tx.query(sql.type(Empty)`delete from replacements where run_no = ${run} and (not lost or until <= lading_now())`)
