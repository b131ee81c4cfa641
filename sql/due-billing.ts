import {z} from 'zod'
import {type Db, sql} from './database.ts'

const Empty = z.object({})
const Org = z.object({org: z.string()})

/**
 * The interval after which an org with unsettled billing is compared with the provider again. The interval is `hourly` for an open Checkout page
 * that has not expired, a plan change that waits for a payment confirmation, and the daily comparison.
 */
const soon = sql.fragment`interval '5 minutes'`
const hourly = sql.fragment`interval '1 hour'`
const perKind = 200

/**
 * Claims orgs whose billing rows may differ from the provider's, although no event came. They have an unsettled plan change, an unsettled Checkout
 * older than ten minutes, an overdue trial, or a live subscription that was last read over a day ago. Orgs that were compared longest ago take
 * precedence. Skips orgs whose billing lock is taken.
 */
export const claimDueOrgs = (db: Db, limit: number) =>
  db.anyFirst(sql.type(Org)`
    with due (org_id, every) as (
      select org_id, ${soon} from plan_changes where state in ('started', 'unknown', 'partial')
      union all
      select org_id, ${soon} from plan_changes where state = 'accepted' and created_at < lading_now() - ${soon}
      union all
      select org_id, ${hourly} from plan_changes where state = 'confirming'
      union all
      select org_id, case when state = 'started' or expires_at <= lading_now() then ${soon} else ${hourly} end
      from checkouts where state in ('started', 'open') and created_at < lading_now() - interval '10 minutes'
      union all
      select org_id, ${soon} from subscriptions where status = 'trialing' and trial_ends_at <= lading_now()
      union all
      (select org_id, ${hourly} from subscriptions s
        where status not in ('canceled', 'incomplete_expired') and read_at < lading_now() - interval '1 day'
          and not exists (select from billing_accounts b where b.org_id = s.org_id and reconciled_at >= lading_now() - ${hourly})
        order by read_at limit ${perKind})),
    next as (
      select org_id from billing_accounts
      where (held_until is null or held_until <= lading_now())
        and org_id in (select org_id from due where coalesce(reconciled_at < lading_now() - every, true))
      order by reconciled_at nulls first limit ${limit} for no key update skip locked)
    update billing_accounts a set reconciled_at = lading_now() from next where a.org_id = next.org_id returning a.org_id as org`)

/** Makes orgs due again that were claimed but not compared. */
export const giveBackDueOrgs = (db: Db, orgs: string[]) =>
  db.query(sql.type(Empty)`update billing_accounts set reconciled_at = null where org_id = any(${sql.array(orgs, 'text')})`)
