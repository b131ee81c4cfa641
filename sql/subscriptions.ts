import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'
import {Amounts} from './plans.ts'

/** The plan to which a subscription changes at the end of its period; `free` if the subscription ends. */
export const PendingPlan = z.object({
  planKey: z.string(),
  planVersionId: z.string().nullable(),
  interval: z.enum(['month', 'year']).nullable(),
  at: z.string(),
})
export type PendingPlan = z.output<typeof PendingPlan>

const Subscription = z.object({
  org: z.string(),
  id: z.string(),
  status: z.string(),
  planVersionId: z.string().nullable(),
  interval: z.enum(['month', 'year']).nullable(),
  priceId: z.string().nullable(),
  periodStartsAt: z.string().nullable(),
  periodEndsAt: z.string().nullable(),
  trialEndsAt: z.string().nullable(),
  cancelsAt: z.string().nullable(),
  pending: PendingPlan.nullable(),
  overageItemId: z.string().nullable(),
  card: z.string().nullable(),
  /** The amounts apply only if `paid.priceId` equals `priceId`. An earlier release changes `priceId` and leaves the amounts. */
  paid: Amounts.extend({priceId: z.string()}).nullable(),
  readAt: z.string(),
})
export type Subscription = z.output<typeof Subscription>

const subscription = sql.fragment`org_id as org, subscription_id as id, status, plan_version_id as "planVersionId", interval, price_id as "priceId",
  period_starts_at as "periodStartsAt", period_ends_at as "periodEndsAt", trial_ends_at as "trialEndsAt", cancels_at as "cancelsAt", pending,
  overage_item_id as "overageItemId", card, paid_amounts as paid, read_at as "readAt"`

/** Finds the org's subscription as last read. It may have ended. */
export const findSubscription = (db: Db, org: string) =>
  db.maybeOne(sql.type(Subscription)`select ${subscription} from subscriptions where org_id = ${org}`)

/** Only shared/billing/sync-subscription.ts calls this function. */
export const keepSubscription = (tx: Tx, s: Omit<Subscription, 'readAt'>) =>
  tx.query(sql.type(z.object({}))`
    insert into subscriptions (org_id, subscription_id, status, plan_version_id, interval, price_id, period_starts_at, period_ends_at,
      trial_ends_at, cancels_at, pending, overage_item_id, card, paid_amounts, read_at)
    values (${s.org}, ${s.id}, ${s.status}, ${s.planVersionId}, ${s.interval}, ${s.priceId}, ${s.periodStartsAt}, ${s.periodEndsAt},
      ${s.trialEndsAt}, ${s.cancelsAt}, ${s.pending && sql.jsonb(s.pending)}, ${s.overageItemId}, ${s.card},
      ${s.paid && sql.jsonb(s.paid)}, lading_now())
    on conflict (org_id) do update set subscription_id = excluded.subscription_id, status = excluded.status,
      plan_version_id = excluded.plan_version_id, interval = excluded.interval, price_id = excluded.price_id,
      period_starts_at = excluded.period_starts_at, period_ends_at = excluded.period_ends_at, trial_ends_at = excluded.trial_ends_at,
      cancels_at = excluded.cancels_at, pending = excluded.pending, overage_item_id = excluded.overage_item_id, card = excluded.card,
      paid_amounts = excluded.paid_amounts,
      read_at = excluded.read_at`)

/** Marks the org's subscription as ended, because the provider does not know it any more. */
export const setSubscriptionEnded = (tx: Tx, org: string) =>
  tx.query(sql.type(z.object({}))`
    update subscriptions set status = 'canceled', pending = null, cancels_at = null, read_at = lading_now() where org_id = ${org}`)
