import {z} from 'zod'
import type {CrmOrg} from './crm-quota.ts'
import {type Db, sql, type Tx} from './database.ts'

/** How long the shares of a holder stay valid without renewal, in seconds. */
export const shareSeconds = 15
const here = ({dc, crmOrgId}: CrmOrg) => sql.fragment`dc = ${dc} and crm_org_id = ${crmOrgId}`
const turnSeconds = 2
const cutSeconds = 2
const growSeconds = 10
/** How long one slot stays free for a new run after a run has ended, in ms. */
const reservedMs = 250

/**
 * The channel on which a process learns that its shares may change. The payload names the holder and the CRM org: `holder us.123`. A holder
 * contains no space.
 */
export const shareChannel = 'lading_shares'
const notifyHolder = ({dc, crmOrgId}: CrmOrg) => sql.fragment`pg_notify(${shareChannel}, holder || ' ' || ${`${dc}.${crmOrgId}`})`

const Empty = z.object({})
const Budget = z.object({total: z.number(), turn: z.number(), turnMs: z.number(), reservedMs: z.number()})
const grown = sql.fragment`
  greatest(0, coalesce(floor(extract(epoch from lading_now() - greatest(b.cut_at, b.grown_at)) / ${growSeconds}), 0))::int`

/**
 * Locks the CRM org's slot budget until the transaction ends; creates it if there is none. The budget grows by one for every ten seconds without a
 * cut, up to its cap. A budget that was never cut follows its cap at once. A cut budget only grows, because processes may have different caps, and
 * a higher cap must not undo a cut. `turn`: a number that increases every two seconds. `turnMs`: the ms until the next turn. `reservedMs`: the ms for
 * which a slot stays free for a new run.
 */
export const lockBudget = (tx: Tx, {dc, crmOrgId}: CrmOrg, cap: number) =>
  tx.one(sql.type(Budget)`
    insert into crm_budgets as b (dc, crm_org_id, total, cap) values (${dc}, ${crmOrgId}, ${cap}, ${cap})
    on conflict (dc, crm_org_id) do update set cap = excluded.cap,
      total = case when b.cut_at is null then excluded.cap else least(excluded.cap, b.total + ${grown}) end,
      grown_at = greatest(b.cut_at, b.grown_at) + ${grown} * make_interval(secs => ${growSeconds})
    returning total, floor(extract(epoch from lading_now()) / ${turnSeconds})::bigint as turn,
      ceil(1000 * (${turnSeconds} - mod(extract(epoch from lading_now()), ${turnSeconds})))::int as "turnMs",
      case when freed_at <= lading_now() then greatest(0, ${reservedMs} - 1000 * extract(epoch from lading_now() - freed_at)) else 0 end::int as "reservedMs"`)

/**
 * Cuts the slot budget by 30 % and notifies all holders. Returns the new budget. Returns null if the CRM org has no budget, or if the budget was cut
 * less than two seconds ago, so that calls that are refused together cause one cut.
 */
export const cutBudget = async (db: Db, org: CrmOrg) => {
  const cut = await db.maybeOne(sql.type(Budget.pick({total: true}))`
    with cut as (
      update crm_budgets set total = greatest(1, floor(0.7 * total)), cut_at = lading_now()
      where ${here(org)} and (cut_at is null or cut_at <= lading_now() - make_interval(secs => ${cutSeconds}))
      returning total)
    select total, array(select ${notifyHolder(org)}::text from (select distinct holder from crm_shares where ${here(org)}) as holders) from cut`)
  return cut?.total ?? null
}

const Share = z.object({
  holder: z.string(),
  share: z.number(),
  run: z.number().nullable(),
  want: z.number(),
  wantLarge: z.number(),
  got: z.number(),
  gotLarge: z.number(),
})
export type ShareRow = z.output<typeof Share>

const TakenShare = Share.extend({replaced: z.boolean()})

/**
 * Returns the live shares of all holders. Call this under the budget's lock. Deletes expired shares and those marked `replaced`: the holder's own
 * shares, and those of `takenOver`, the runs that the holder took over. The caller stores the holder's shares again.
 */
export const takeShares = (tx: Tx, org: CrmOrg, {holder, takenOver}: {holder: string; takenOver: number[]}) => {
  const replaced = sql.fragment`(holder = ${holder} or coalesce(run_no = any(${sql.array(takenOver, 'int8')}), false))`
  return tx.any(sql.type(TakenShare)`
    with gone as (delete from crm_shares where ${here(org)} and (${replaced} or until <= lading_now()))
    select holder, share_no as share, run_no as run, want, want_large as "wantLarge", got, got_large as "gotLarge", ${replaced} as replaced
    from crm_shares where ${here(org)} and until > lading_now()`)
}

/** Notifies the holders that their shares may change. Postgres sends the notifications when `tx` commits. */
export const notifyHolders = (tx: Tx, org: CrmOrg, holders: string[]) =>
  tx.query(sql.type(Empty)`
    select ${notifyHolder(org)} from ${sql.unnest(
      holders.map(holder => [holder]),
      ['text'],
    )} as t (holder)`)

export const insertShares = (tx: Tx, {dc, crmOrgId}: CrmOrg, shares: (ShareRow & {inUse: number})[]) =>
  tx.query(sql.type(Empty)`
    insert into crm_shares (dc, crm_org_id, holder, share_no, run_no, want, want_large, got, got_large, in_use, until)
    select ${dc}, ${crmOrgId}, *, lading_now() + make_interval(secs => ${shareSeconds}) from ${sql.unnest(
      shares.map(({holder, share, run, want, wantLarge, got, gotLarge, inUse}) => [
        holder,
        share,
        run,
        want,
        wantLarge,
        got,
        gotLarge,
        inUse,
      ]),
      ['text', 'int8', 'int8', 'int2', 'int2', 'int2', 'int2', 'int2'],
    )} as t`)

/**
 * Deletes one share and notifies the other holders. If the share belongs to a run, sets `freed_at` first: renewals also lock the budget before the
 * shares, so the two cannot deadlock.
 */
export const deleteShare = (db: Db, org: CrmOrg, {holder, share}: {holder: string; share: number}) =>
  db.query(sql.type(Empty)`
    with freed as (
      update crm_budgets set freed_at = lading_now()
      where ${here(org)} and exists (
        select from crm_shares where ${here(org)} and holder = ${holder} and share_no = ${share} and run_no is not null)
      returning 1),
    gone as (
      delete from crm_shares using (select count(*) from freed) as before
      where ${here(org)} and holder = ${holder} and share_no = ${share} returning holder)
    select ${notifyHolder(org)} from (select distinct holder from crm_shares where ${here(org)} and holder <> ${holder}) as others
    where exists (select from gone)`)
