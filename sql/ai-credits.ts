import type {FragmentSqlToken} from 'slonik'
import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

const Empty = z.object({})
const Pool = z.enum(['included', 'purchased'])
export type CreditPool = z.infer<typeof Pool>

/**
 * The AI credits of an org, as decimal numbers with at most six places. Postgres computes the sums, because JavaScript would round them. `available`:
 * credits that are neither reserved nor spent.
 */
const Account = z.object({included: z.number(), purchased: z.number(), reserved: z.number(), available: z.number()})
export type CreditAccount = z.infer<typeof Account>

/** SQL for the credits of a grant that are neither reserved nor spent. */
const freed = sql.fragment`(remaining + remaining_fraction - held - held_fraction)`

/**
 * SQL that sets the remaining and the reserved credits of a grant, each as a whole number and a fraction. Previous builds read only the whole
 * numbers. The whole numbers are chosen so that `remaining - held` never exceeds the free credits.
 */
const setGrant = (remaining: FragmentSqlToken, reserved: FragmentSqlToken) => sql.fragment`
  held = floor(${reserved}), held_fraction = ${reserved} - floor(${reserved}),
  remaining = floor(${reserved}) + floor(${remaining} - ${reserved}),
  remaining_fraction = ${remaining} - floor(${reserved}) - floor(${remaining} - ${reserved})`

/** Locks the org's account; creates it if there is none. All changes of the org's credits take this lock. */
export const holdAccount = async (tx: Tx, org: string): Promise<void> => {
  if ((await lockAccount(tx, org)) !== null) return
  await tx.query(sql.type(Empty)`insert into credit_accounts (org_id) values (${org}) on conflict (org_id) do nothing`)
  await lockAccount(tx, org)
}

const lockAccount = (tx: Tx, org: string) =>
  tx.maybeOne(sql.type(Empty)`select from credit_accounts where org_id = ${org} for no key update`)

export const findAccount = (tx: Tx, org: string) =>
  tx.one(sql.type(Account)`
    select a.included::float8, a.purchased::float8, a.reserved::float8, (a.included + a.purchased - a.reserved)::float8 as available
    from credit_accounts c, lateral (select c.included + included_fraction as included, c.purchased + purchased_fraction as purchased,
      c.reserved + reserved_fraction as reserved) a
    where org_id = ${org}`)

type Entry = {
  org: string
  kind: 'grant' | 'expire' | 'reserve' | 'settle' | 'release'
  ref: string | null
  feature?: string | null
} & Partial<Omit<CreditAccount, 'available'>>

/** Inserts the credit entry of a change that the caller made to grants. Sets the account to the sums of the org's grants. */
export const postEntry = (tx: Tx, {org, kind, ref, feature = null, included = 0, purchased = 0, reserved = 0}: Entry) =>
  tx.query(sql.type(Empty)`
    with line as (
      insert into credit_entries (org_id, kind, included, purchased, reserved, included_fraction, purchased_fraction, reserved_fraction, feature, ref)
      select ${org}, ${kind}, trunc(i), trunc(p), trunc(r), i - trunc(i), p - trunc(p), r - trunc(r), ${feature}, ${ref}
      from (values (${included}::numeric, ${purchased}::numeric, ${reserved}::numeric)) as moved(i, p, r)),
    sums as (
      select coalesce(sum(remaining) filter (where pool = 'included'), 0) as included,
        coalesce(sum(remaining) filter (where pool = 'purchased'), 0) as purchased, coalesce(sum(held), 0) as reserved,
        coalesce(sum(remaining_fraction) filter (where pool = 'included'), 0) as included_fraction,
        coalesce(sum(remaining_fraction) filter (where pool = 'purchased'), 0) as purchased_fraction,
        coalesce(sum(held_fraction), 0) as reserved_fraction
      from credit_grants where org_id = ${org})
    update credit_accounts a set included = s.included, purchased = s.purchased, reserved = s.reserved,
      included_fraction = s.included_fraction, purchased_fraction = s.purchased_fraction, reserved_fraction = s.reserved_fraction
    from sums s where org_id = ${org}`)

type NewGrant = {org: string; ref: string; pool: CreditPool; credits: number; basis: number | null; expiresAt: string | null}

export const hasGrant = (tx: Tx, {org, ref}: Pick<NewGrant, 'org' | 'ref'>) =>
  tx.exists(sql.type(Empty)`select from credit_grants where org_id = ${org} and ref = ${ref}`)

/** Returns false if a grant with this ref exists. */
export const insertGrant = async (tx: Tx, {org, ref, pool, credits, basis, expiresAt}: NewGrant) => {
  const {rowCount} = await tx.query(sql.type(Empty)`
    insert into credit_grants (org_id, ref, pool, credits, credits_fraction, remaining, remaining_fraction, basis, expires_at)
    select ${org}, ${ref}, ${pool}, floor(n), n - floor(n), floor(n), n - floor(n), ${basis}, ${expiresAt}
    from (values (${credits}::numeric)) as given(n) on conflict (org_id, ref) do nothing`)
  return rowCount === 1
}

/**
 * Reduces a plan's grant to `credits`; reserved and spent credits are not taken back. Returns how many remaining credits were removed: 0 if the
 * grant was not larger.
 */
export const lowerGrant = async (tx: Tx, {org, ref, credits}: {org: string; ref: string; credits: number}): Promise<number> =>
  (await tx.maybeOneFirst(sql.type(z.object({less: z.number()}))`
    with was as (
      select remaining + remaining_fraction as remaining, held + held_fraction as held,
        greatest(held + held_fraction, remaining + remaining_fraction - (credits - ${credits})) as next
      from credit_grants where org_id = ${org} and ref = ${ref})
    update credit_grants g set credits = greatest(${credits}, ceil(was.held), 1), basis = ${credits},
      ${setGrant(sql.fragment`was.next`, sql.fragment`was.held`)}
    from was where org_id = ${org} and ref = ${ref} and g.credits > ${credits} returning (was.remaining - was.next)::float8 as less`)) ?? 0

/** Returns the largest grant size that a plan has set for credits that expire at this time; 0 if none. */
export const findBasis = (tx: Tx, {org, expiresAt}: {org: string; expiresAt: string}) =>
  tx.oneFirst(sql.type(z.object({basis: z.number()}))`
    select coalesce(max(basis), 0) as basis from credit_grants where org_id = ${org} and expires_at = ${expiresAt}`)

/** Returns the granted and the spent credits of the included pool in the period that ends at this time. */
export const readIncluded = (tx: Tx, {org, endsAt}: {org: string; endsAt: string}) =>
  tx.one(sql.type(z.object({given: z.number(), spent: z.number()}))`
    select coalesce(sum(credits + credits_fraction), 0)::float8 as given,
      coalesce(sum(credits + credits_fraction - remaining - remaining_fraction), 0)::float8 as spent
    from credit_grants where org_id = ${org} and pool = 'included' and expires_at = ${endsAt}`)

export const endPlanGrants = (tx: Tx, org: string) =>
  tx.query(sql.type(Empty)`
    update credit_grants set expires_at = lading_now() where org_id = ${org} and basis is not null and expires_at > lading_now()`)

const Sums = z.object({included: z.number(), purchased: z.number()})

/** Expires the unreserved credits of grants whose time has passed. Returns the expired credits by pool. */
export const expireGrants = (tx: Tx, org: string) =>
  tx.one(sql.type(Sums)`
    with due as (
      select ref, ${freed} as free from credit_grants
      where org_id = ${org} and ${freed} > 0 and expires_at <= lading_now()),
    gone as (
      update credit_grants g set remaining = held, remaining_fraction = held_fraction
      from due where g.org_id = ${org} and g.ref = due.ref returning g.pool, due.free)
    select coalesce(sum(free) filter (where pool = 'included'), 0)::float8 as included,
      coalesce(sum(free) filter (where pool = 'purchased'), 0)::float8 as purchased from gone`)

const CreditReservation = z.object({
  ref: z.string(),
  feature: z.string(),
  amount: z.number(),
  state: z.enum(['reserved', 'settled', 'released', 'expired']),
  spent: z.number(),
  expiresAt: z.string(),
})
export type CreditReservation = z.infer<typeof CreditReservation>

const reservation = sql.fragment`ref, feature, amount, state, spent, expires_at as "expiresAt"`

export const findReservation = (tx: Tx, {org, ref}: {org: string; ref: string}) =>
  tx.maybeOne(sql.type(CreditReservation)`select ${reservation} from credit_reservations where org_id = ${org} and ref = ${ref}`)

/** Lists the org's reservations that expired before they were settled. */
export const listAbandoned = (tx: Tx, org: string) =>
  tx.any(sql.type(CreditReservation)`
    select ${reservation} from credit_reservations where org_id = ${org} and state = 'reserved' and expires_at <= lading_now()`)

export const listOrgsToSweep = (db: Db, limit: number) =>
  db.anyFirst(sql.type(z.object({org: z.string()}))`
    select distinct org_id as org from credit_reservations where state = 'reserved' and expires_at <= lading_now() limit ${limit}`)

type NewReservation = {org: string; ref: string; feature: string; amount: number; seconds: number}

/**
 * Reserves credits from the grants in spending order: included before purchased, earlier expiry first. The caller has locked the account
 * and checked the balance.
 */
export const insertReservation = async (tx: Tx, {org, ref, feature, amount, seconds}: NewReservation) => {
  await tx.query(sql.type(Empty)`
    insert into credit_reservations (org_id, ref, feature, amount, expires_at)
    values (${org}, ${ref}, ${feature}, ${amount}, lading_now() + make_interval(secs => ${seconds}))`)
  await holdCredits(tx, {org, ref, amount})
}

/** Grants that expired after the caller checked the balance still count, because the checked balance includes them. */
export const holdCredits = (tx: Tx, {org, ref, amount}: {org: string; ref: string; amount: number}) =>
  tx.query(sql.type(Empty)`
    with free as (
      select ref, remaining + remaining_fraction as remaining, held + held_fraction as held, ${freed} as free,
        sum(${freed}) over (order by pool, expires_at nulls last, created_at, ref) - ${freed} as before
      from credit_grants where org_id = ${org} and ${freed} > 0),
    taken as (
      select ref, remaining, held + least(free, ${amount} - before) as held, least(free, ${amount} - before) as amount
      from free where before < ${amount}),
    changed as (
      update credit_grants g set ${setGrant(sql.fragment`taken.remaining`, sql.fragment`taken.held`)}
      from taken where g.org_id = ${org} and g.ref = taken.ref)
    insert into credit_holds (org_id, ref, grant_ref, amount, amount_fraction)
    select ${org}, ${ref}, ref, floor(amount), amount - floor(amount) from taken
    on conflict (org_id, ref, grant_ref) do update set amount = credit_holds.amount + excluded.amount,
      amount_fraction = credit_holds.amount_fraction + excluded.amount_fraction`)

/** Spends `spent` of the reserved credits in spending order and returns the rest to their grants. Returns the spent credits by pool. */
export const spendHeld = async (tx: Tx, {org, ref, spent}: {org: string; ref: string; spent: number}) => {
  const sums = await tx.one(sql.type(Sums)`
    with held as (
      select grant_ref, pool, h.amount, remaining + remaining_fraction as remaining, held + held_fraction as held,
        sum(h.amount) over (order by pool, expires_at nulls last, created_at, grant_ref) - h.amount as before
      from (select org_id, grant_ref, amount + amount_fraction as amount from credit_holds where org_id = ${org} and ref = ${ref}) h
      join credit_grants g on g.org_id = h.org_id and g.ref = grant_ref),
    parts as (
      select grant_ref, pool, remaining, held - amount as held, greatest(0, least(amount, ${spent} - before)) as spent from held),
    given as (
      update credit_grants g set ${setGrant(sql.fragment`(parts.remaining - parts.spent)`, sql.fragment`parts.held`)}
      from parts where g.org_id = ${org} and g.ref = parts.grant_ref)
    select coalesce(sum(spent) filter (where pool = 'included'), 0)::float8 as included,
      coalesce(sum(spent) filter (where pool = 'purchased'), 0)::float8 as purchased from parts`)
  await tx.query(sql.type(Empty)`delete from credit_holds where org_id = ${org} and ref = ${ref}`)
  return sums
}

export const setReserved = (tx: Tx, {org, ref, amount}: {org: string; ref: string; amount: number}) =>
  tx.query(sql.type(Empty)`update credit_reservations set amount = ${amount} where org_id = ${org} and ref = ${ref}`)

type EndedReservation = {org: string; ref: string; state: 'settled' | 'released' | 'expired'; spent: number}

export const endReservation = (tx: Tx, {org, ref, state, spent}: EndedReservation) =>
  tx.query(sql.type(Empty)`
    update credit_reservations set state = ${state}, spent = ${spent} where org_id = ${org} and ref = ${ref}`)

const moved = sql.fragment`(included + included_fraction + purchased + purchased_fraction)`

const Spent = z.object({feature: z.string(), credits: z.number()})

export const listSpent = (db: Db, {org, since}: {org: string; since: string}) =>
  db.any(sql.type(Spent)`
    select coalesce(feature, '') as feature, -sum(${moved})::float8 as credits
    from credit_entries where org_id = ${org} and kind = 'settle' and created_at >= ${since} group by 1 having sum(${moved}) < 0 order by 1`)
