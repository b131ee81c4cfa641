import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

const Limits = z.object({
  rowsPerPeriod: z.number(),
  rowsPerRun: z.number(),
  modules: z.number(),
  schedules: z.number(),
  fileBytes: z.number(),
  historyDays: z.number(),
  undoDays: z.number().default(0),
  aiCredits: z.number(),
})
export type Limits = z.infer<typeof Limits>

const PlanVersion = z.object({
  id: z.string(),
  key: z.string(),
  version: z.number(),
  name: z.string(),
  rank: z.number(),
  limits: Limits,
  features: z.array(z.string()),
})
export type PlanVersion = z.infer<typeof PlanVersion>

const columns = sql.fragment`p.id, p.key, p.version, p.name, p.rank, p.limits, p.features`

export const findPlan = (db: Db, org: string) =>
  db.one(sql.type(PlanVersion)`select ${columns} from plan_versions p join org_plans o on o.plan_version_id = p.id where o.org_id = ${org}`)

export const Status = z.enum(['trialing', 'active', 'past_due', 'suspended'])
export type Status = z.infer<typeof Status>

const Standing = z.object({
  /** The org that pays: the org itself, or the production org of a linked sandbox org. */
  payer: z.string(),
  plan: PlanVersion,
  status: Status,
  anchor: z.string(),
  trialStartedAt: z.string().nullable(),
  trialEndsAt: z.string().nullable(),
  pastDueSince: z.string().nullable(),
  overageEnabled: z.boolean(),
  sandbox: z.boolean(),
  /** Whether an unpaid invoice caused the suspension, not a staff member. */
  unpaid: z.boolean(),
  now: z.string(),
})
export type PlanStatusRow = z.infer<typeof Standing>

/** Reads the org's plan status and the current time. Returns null if the org is gone. */
export const findPlanStatus = (db: Db, org: string) =>
  db.maybeOne(sql.type(Standing)`
    select jsonb_build_object('id', p.id, 'key', p.key, 'version', p.version, 'name', p.name, 'rank', p.rank, 'limits', p.limits,
        'features', p.features) as plan,
      payer_id as payer, status, anchor, o.trial_started_at as "trialStartedAt", o.trial_ends_at as "trialEndsAt", o.past_due_since as "pastDueSince",
      o.overage_enabled and not orgs.sandbox as "overageEnabled", orgs.sandbox,
      payer.plan_status = 'suspended' and coalesce(orgs.suspended_at, payer.suspended_at) is null as unpaid, lading_now() as now
    from org_plans o join plan_versions p on p.id = o.plan_version_id join orgs on orgs.id = o.org_id join orgs payer on payer.id = payer_id
    where o.org_id = ${org}`)

/** Lists the newest version of each plan, if that version is on sale, the lowest rank first. */
export const listSold = (db: Db) =>
  db.any(sql.type(PlanVersion)`
    select ${columns} from plan_versions p
    where sold and not exists (select from plan_versions n where n.key = p.key and n.version > p.version)
    order by rank, key`)

/** Finds the newest version of a plan, on sale or not. */
export const findNewestPlan = (db: Db, key: string) =>
  db.one(sql.type(PlanVersion)`select ${columns} from plan_versions p where key = ${key} order by version desc limit 1`)

export const findPlanVersion = (db: Db, id: string) =>
  db.maybeOne(sql.type(PlanVersion)`select ${columns} from plan_versions p where id = ${id}`)

/** Amounts in the smallest unit of the currency. They are decimals, because one row may cost less than a unit. */
export const Amounts = z.object({
  currency: z.string(),
  amounts: z.record(z.string(), z.string()),
  taxBehavior: z.enum(['inclusive', 'exclusive']).nullish(),
})
export type PaymentAmounts = z.infer<typeof Amounts>

const Payment = z.object({
  paymentProductId: z.string().nullable(),
  paymentPriceMonthlyId: z.string().nullable(),
  paymentPriceAnnualId: z.string().nullable(),
  paymentPriceOverageId: z.string().nullable(),
})
export type PlanPayment = z.infer<typeof Payment>
const Priced = PlanVersion.extend({sold: z.boolean(), ...Payment.shape, amounts: Amounts.nullable()})
export type PricedPlan = z.infer<typeof Priced>

const priced = sql.fragment`${columns}, p.sold, p.payment_product_id as "paymentProductId", p.payment_price_monthly_id as "paymentPriceMonthlyId",
  p.payment_price_annual_id as "paymentPriceAnnualId", p.payment_price_overage_id as "paymentPriceOverageId", p.payment_amounts as amounts`

export const listPlans = (db: Db) => db.any(sql.type(Priced)`select ${priced} from plan_versions p order by rank, key, version`)

export const lockPricedPlan = (tx: Tx, id: string) =>
  tx.maybeOne(sql.type(Priced)`select ${priced} from plan_versions p where id = ${id} for no key update`)

export const setPlanPayment = (tx: Tx, id: string, payment: PlanPayment & {amounts: PaymentAmounts | null}) =>
  tx.one(sql.type(Priced)`
    update plan_versions p set payment_product_id = ${payment.paymentProductId}, payment_price_monthly_id = ${payment.paymentPriceMonthlyId},
      payment_price_annual_id = ${payment.paymentPriceAnnualId}, payment_price_overage_id = ${payment.paymentPriceOverageId},
      payment_amounts = ${payment.amounts && sql.jsonb(payment.amounts)}
    where id = ${id} returning ${priced}`)

type OrgPlanMove = {org: string; plan: string; status: Status; anchor: string}

/**
 * Moves the org to a plan. An org that stays past due keeps the time at which it became past due. If the org comes to a plan without an overage
 * price, overage is disabled. An org that stays on its plan keeps overage. The caller has locked the org's row.
 */
export const setOrgPlan = (tx: Tx, {org, plan, status, anchor}: OrgPlanMove) =>
  tx.query(sql.type(z.object({}))`
    update orgs set plan_version_id = ${plan}, plan_status = ${status}, plan_anchor = ${anchor},
      past_due_since = case when ${status} = 'past_due' then coalesce(past_due_since, lading_now()) end,
      overage_enabled = overage_enabled and (plan_version_id = ${plan}
        or exists (select from plan_versions p where p.id = ${plan} and payment_price_overage_id is not null))
    where id = ${org}`)

const OrgPlan = z.object({planVersionId: z.string(), status: Status, anchor: z.string(), trialEndsAt: z.string().nullable()})

/** Reads the org's plan as stored, without the effects of staff actions or time. Locks the row until the transaction ends. */
export const lockOrgPlan = (tx: Tx, org: string) =>
  tx.maybeOne(sql.type(OrgPlan)`
    select plan_version_id as "planVersionId", plan_status as status, plan_anchor as anchor, trial_ends_at as "trialEndsAt"
    from orgs where id = ${org} for no key update`)

/** Starts a trial of the plan. When the trial ends, the org returns to the plan that it has now. */
export const beginTrial = (tx: Tx, {org, plan, days}: {org: string; plan: string; days: number}) =>
  tx.query(sql.type(z.object({}))`
    update orgs set trial_from = plan_version_id, plan_version_id = ${plan}, plan_status = 'trialing', plan_anchor = clock.now,
      trial_started_at = clock.now, trial_ends_at = clock.now + make_interval(days => ${days})
    from (select lading_now() as now) clock where id = ${org}`)

/** Ends a trial early, because a purchased plan replaced it. */
export const cutTrial = (tx: Tx, org: string) =>
  tx.query(sql.type(z.object({}))`
    update orgs set trial_ends_at = lading_now() where id = ${org} and plan_status <> 'trialing' and trial_ends_at > lading_now()`)

const Trial = z.object({org: z.string(), plan: z.string(), from: z.string(), endsAt: z.string()})

/**
 * Locks the org whose trial expired first. Returns null if there is none. Skips orgs that another process has locked. Skips an org whose
 * subscription was in its trial when last read. The next read moves that org to its bought plan and keeps its overage.
 */
export const claimOverTrial = (tx: Tx) =>
  tx.maybeOne(sql.type(Trial)`
    select id as org, plan_version_id as plan, trial_from as "from", trial_ends_at as "endsAt"
    from orgs where plan_status = 'trialing' and trial_ends_at <= (select lading_now())
      and not exists (select from subscriptions s where s.org_id = orgs.id and s.status = 'trialing')
    order by trial_ends_at limit 1 for no key update skip locked`)

const Suspension = z.object({id: z.string(), suspendedAt: z.string().nullable()})

export const lockSuspension = (tx: Tx, id: string) =>
  tx.maybeOne(
    sql.type(Suspension)`select id, suspended_at as "suspendedAt" from orgs where id = ${id} and erasing_at is null for no key update`,
  )

export const setSuspended = (tx: Tx, {id, suspended}: {id: string; suspended: boolean}) =>
  tx.one(sql.type(Suspension)`
    update orgs set suspended_at = case when ${suspended} then lading_now() end where id = ${id} returning id, suspended_at as "suspendedAt"`)

const CreditPack = z.object({
  key: z.string(),
  name: z.string(),
  credits: z.number(),
  paymentProductId: z.string().nullable(),
  paymentPriceId: z.string().nullable(),
  amounts: Amounts.nullable(),
})
export type CreditPack = z.infer<typeof CreditPack>
export type PackPayment = Pick<CreditPack, 'paymentProductId' | 'paymentPriceId'>

const pack = sql.fragment`key, name, credits, payment_product_id as "paymentProductId", payment_price_id as "paymentPriceId", payment_amounts as amounts`

export const listPacks = (db: Db) => db.any(sql.type(CreditPack)`select ${pack} from credit_packs order by credits, key`)

export const lockPack = (tx: Tx, key: string) =>
  tx.maybeOne(sql.type(CreditPack)`select ${pack} from credit_packs where key = ${key} for no key update`)

export const setPackPayment = (
  tx: Tx,
  key: string,
  {paymentProductId, paymentPriceId, amounts}: PackPayment & {amounts: PaymentAmounts | null},
) =>
  tx.one(sql.type(CreditPack)`
    update credit_packs set payment_product_id = ${paymentProductId}, payment_price_id = ${paymentPriceId},
      payment_amounts = ${amounts && sql.jsonb(amounts)} where key = ${key} returning ${pack}`)

/** Stores the amounts of a plan version, unless its payment ids are no longer those of `verified`. The API calls this function when it starts. */
export const setPlanAmounts = (db: Db, verified: PlanPayment & {id: string}, amounts: PaymentAmounts) =>
  db.query(sql.type(z.object({}))`
    update plan_versions set payment_amounts = ${sql.jsonb(amounts)}
    where id = ${verified.id} and payment_product_id is not distinct from ${verified.paymentProductId}
      and payment_price_monthly_id is not distinct from ${verified.paymentPriceMonthlyId}
      and payment_price_annual_id is not distinct from ${verified.paymentPriceAnnualId}
      and payment_price_overage_id is not distinct from ${verified.paymentPriceOverageId}`)

export const setPackAmounts = (db: Db, verified: PackPayment & {key: string}, amounts: PaymentAmounts) =>
  db.query(sql.type(z.object({}))`
    update credit_packs set payment_amounts = ${sql.jsonb(amounts)}
    where key = ${verified.key} and payment_product_id is not distinct from ${verified.paymentProductId}
      and payment_price_id is not distinct from ${verified.paymentPriceId}`)
