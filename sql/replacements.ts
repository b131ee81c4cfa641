import {z} from 'zod'
import type {CrmOrg} from './crm-quota.ts'
import {type Db, sql, type Tx} from './database.ts'

const Empty = z.object({})

const Hold = z.object({parent: z.string(), isHeld: z.boolean(), leftMs: z.number().nullable()})

/** The holder of a reservation: a request of an external engine, or a run with the fence of its owner. */
type Holder = {write: string; run?: null; fence?: null} | {write?: null; run: number; fence: number}

type HoldParentsInput = {holder: Holder; parents: string[]; seconds: number}

/**
 * Reserves parents for this holder for `seconds`, so that no other holder reads or replaces their subform rows. Returns one row per parent. `isHeld`:
 * false if another holder has the parent, or an unanswered call may still change the parent's rows. `leftMs`: for how many ms the CRM may still
 * execute that unanswered call; null if there is none.
 */
export const holdParents = (
  db: Db,
  {dc, crmOrgId}: CrmOrg,
  {holder: {write = null, run = null, fence = null}, parents, seconds}: HoldParentsInput,
) =>
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

type ParentsRef = {holder: Holder; parents: string[]}

/** Marks the parents of an unanswered call as `lost`, and keeps them reserved for `seconds`. */
export const loseParents = (db: Db, {holder, parents, seconds}: ParentsRef & {seconds: number}) =>
  db.query(sql.type(Empty)`
    update replacements set lost = true, until = lading_now() + make_interval(secs => ${seconds})
    where ${heldBy(holder)} and parent_id = any(${sql.array(parents, 'text')})`)

export const releaseParents = (db: Db, {holder, parents}: ParentsRef) =>
  db.query(
    sql.type(Empty)`delete from replacements where ${heldBy(holder)} and not lost and parent_id = any(${sql.array(parents, 'text')})`,
  )

/** Releases all parents that the holder reserved, except the parents of unanswered calls. */
export const releaseAll = (db: Db, holder: Holder) =>
  db.query(sql.type(Empty)`delete from replacements where ${heldBy(holder)} and not lost`)

const heldBy = ({write = null, run = null, fence = null}: Holder) =>
  write === null ? sql.fragment`run_no = ${run} and fence = ${fence}` : sql.fragment`write = ${write}`

/**
 * Marks the parents that earlier owners of the run reserved as `lost`, because the CRM may still execute a request of theirs. These parents stay
 * reserved for at most `seconds`.
 */
export const loseEarlier = (db: Db, {run, fence, seconds}: {run: number; fence: number; seconds: number}) =>
  db.query(sql.type(Empty)`
    update replacements set lost = true, until = least(until, lading_now() + make_interval(secs => ${seconds}))
    where run_no = ${run} and fence < ${fence} and not lost`)

/** Releases the parents of an ended run. Parents whose last call the CRM may still execute stay reserved until the reservation expires. */
export const releaseRun = (tx: Tx | Db, run: number) =>
  tx.query(sql.type(Empty)`delete from replacements where run_no = ${run} and (not lost or until <= lading_now())`)
