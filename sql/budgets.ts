import {z} from 'zod'
import type {CrmOrg} from './allowances.ts'
import {type Db, sql, type Tx} from './database.ts'

/** How long a silent holder keeps its shares. */
export const shareSeconds = 15
const here = ({dc, crmOrgId}: CrmOrg) => sql.fragment`dc = ${dc} and crm_org_id = ${crmOrgId}`
const turnSeconds = 2
const cutSeconds = 2
const growSeconds = 10

const Budget = z.object({total: z.number(), turn: z.number()})
const grown = sql.fragment`
  greatest(0, coalesce(floor(extract(epoch from lading_now() - greatest(b.cut_at, b.grown_at)) / ${growSeconds}), 0))::int`

/**
 * Holds the budget until the transaction ends; made where there is none. It grows by one for every ten seconds without a cut, up to
 * its cap; one that was never cut follows its cap at once. `turn` counts up every two seconds.
 */
export const lockBudget = (tx: Tx, {dc, crmOrgId}: CrmOrg, cap: number) =>
  tx.one(sql.type(Budget)`
    insert into crm_budgets as b (dc, crm_org_id, total, cap) values (${dc}, ${crmOrgId}, ${cap}, ${cap})
    on conflict (dc, crm_org_id) do update set cap = excluded.cap,
      total = case when b.total = b.cap then excluded.cap else least(excluded.cap, b.total + ${grown}) end,
      grown_at = greatest(b.cut_at, b.grown_at) + ${grown} * make_interval(secs => ${growSeconds})
    returning total, floor(extract(epoch from lading_now()) / ${turnSeconds})::bigint as turn`)

/** Takes three tenths away, at most once in two seconds: calls refused together are one sign. Null when it was cut just now. */
export const cutBudget = (db: Db, org: CrmOrg) =>
  db.maybeOneFirst(sql.type(Budget.pick({total: true}))`
    update crm_budgets set total = greatest(1, floor(0.7 * total)), cut_at = lading_now()
    where ${here(org)} and (cut_at is null or cut_at <= lading_now() - make_interval(secs => ${cutSeconds}))
    returning total`)

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

/**
 * The live shares of everybody else. Under the budget's lock; the holder's own go, to be written anew, and so do expired ones and
 * those of `takenOver`: runs whose last owner has lost them to this holder.
 */
export const takeShares = (tx: Tx, org: CrmOrg, {holder, takenOver}: {holder: string; takenOver: number[]}) => {
  const gone = sql.fragment`(holder = ${holder} or until <= lading_now() or coalesce(run_no = any(${sql.array(takenOver, 'int8')}), false))`
  return tx.any(sql.type(Share)`
    with gone as (delete from crm_shares where ${here(org)} and ${gone})
    select holder, share_no as share, run_no as run, want, want_large as "wantLarge", got, got_large as "gotLarge" from crm_shares
    where ${here(org)} and not ${gone}`)
}

export const insertShares = (tx: Tx, {dc, crmOrgId}: CrmOrg, shares: (ShareRow & {inUse: number})[]) =>
  tx.query(sql.type(z.object({}))`
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

/** What nobody holds any more may be taken by anybody: this needs no lock. */
export const deleteShare = (db: Db, org: CrmOrg, {holder, share}: {holder: string; share: number}) =>
  db.query(sql.type(z.object({}))`
    delete from crm_shares where ${here(org)} and holder = ${holder} and share_no = ${share}`)
