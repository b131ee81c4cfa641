import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

const Empty = z.object({})
const Pool = z.enum(['included', 'purchased'])
export type CreditPool = z.infer<typeof Pool>

const Account = z.object({included: z.number(), purchased: z.number(), reserved: z.number()})
export type CreditAccount = z.infer<typeof Account>

/** The org's account, made where there is none. Whoever moves its credits takes turns here. */
export const holdAccount = async (tx: Tx, org: string): Promise<void> => {
  if ((await lockAccount(tx, org)) !== null) return
  await tx.query(sql.type(Empty)`insert into credit_accounts (org_id) values (${org}) on conflict (org_id) do nothing`)
  await lockAccount(tx, org)
}

const lockAccount = (tx: Tx, org: string) =>
  tx.maybeOne(sql.type(Account)`
    select included, purchased, reserved from credit_accounts where org_id = ${org} for no key update`)

export const findAccount = (tx: Tx, org: string) =>
  tx.one(sql.type(Account)`select included, purchased, reserved from credit_accounts where org_id = ${org}`)

type Entry = {
  org: string
  kind: 'grant' | 'expire' | 'reserve' | 'settle' | 'release'
  ref: string | null
  feature?: string | null
} & Partial<CreditAccount>

/** One move: its line, and the sums it changes. */
export const postEntry = (tx: Tx, {org, kind, ref, feature = null, included = 0, purchased = 0, reserved = 0}: Entry) =>
  tx.query(sql.type(Empty)`
    with line as (
      insert into credit_entries (org_id, kind, included, purchased, reserved, feature, ref)
      values (${org}, ${kind}, ${included}, ${purchased}, ${reserved}, ${feature}, ${ref}))
    update credit_accounts set included = included + ${included}, purchased = purchased + ${purchased}, reserved = reserved + ${reserved}
    where org_id = ${org}`)

type NewGrant = {org: string; ref: string; pool: CreditPool; credits: number; basis: number | null; expiresAt: string | null}

/** Answers whether it was given: not where one of that name was before. */
export const insertGrant = async (tx: Tx, {org, ref, pool, credits, basis, expiresAt}: NewGrant) => {
  const {rowCount} = await tx.query(sql.type(Empty)`
    insert into credit_grants (org_id, ref, pool, credits, remaining, basis, expires_at)
    values (${org}, ${ref}, ${pool}, ${credits}, ${credits}, ${basis}, ${expiresAt}) on conflict (org_id, ref) do nothing`)
  return rowCount === 1
}

/** Makes of a plan's grant what it would have been at a lower level; answers how much less is left of it. What is held or spent stays. */
export const lowerGrant = async (tx: Tx, {org, ref, credits}: {org: string; ref: string; credits: number}): Promise<number> =>
  (await tx.maybeOneFirst(sql.type(z.object({less: z.number()}))`
    with was as (select remaining from credit_grants where org_id = ${org} and ref = ${ref})
    update credit_grants g set credits = greatest(${credits}, g.held, 1), basis = ${credits},
      remaining = greatest(g.held, g.remaining - (g.credits - ${credits}))
    from was where org_id = ${org} and ref = ${ref} and g.credits > ${credits} returning was.remaining - g.remaining as less`)) ?? 0

/** The highest level at which a plan has given credits that are good until then. */
export const findBasis = (tx: Tx, {org, expiresAt}: {org: string; expiresAt: string}) =>
  tx.oneFirst(sql.type(z.object({basis: z.number()}))`
    select coalesce(max(basis), 0) as basis from credit_grants where org_id = ${org} and expires_at = ${expiresAt}`)

/** Of what is included in the period that ends then: how much that was, and how much of it is spent. */
export const readIncluded = (tx: Tx, {org, endsAt}: {org: string; endsAt: string}) =>
  tx.one(sql.type(z.object({given: z.number(), spent: z.number()}))`
    select coalesce(sum(credits), 0)::int8 as given, coalesce(sum(credits - remaining), 0)::int8 as spent
    from credit_grants where org_id = ${org} and pool = 'included' and expires_at = ${endsAt}`)

/** What the plan gave for a period that ends now. */
export const endPlanGrants = (tx: Tx, org: string) =>
  tx.query(sql.type(Empty)`
    update credit_grants set expires_at = lading_now() where org_id = ${org} and basis is not null and expires_at > lading_now()`)

const Sums = z.object({included: z.number(), purchased: z.number()})

/** Grants whose time is over give up what nothing holds. Answers how much that was, by pool. */
export const expireGrants = (tx: Tx, org: string) =>
  tx.one(sql.type(Sums)`
    with due as (
      select ref, remaining - held as free from credit_grants
      where org_id = ${org} and remaining > held and expires_at <= lading_now()),
    gone as (
      update credit_grants g set remaining = held from due where g.org_id = ${org} and g.ref = due.ref returning g.pool, due.free)
    select coalesce(sum(free) filter (where pool = 'included'), 0)::int8 as included,
      coalesce(sum(free) filter (where pool = 'purchased'), 0)::int8 as purchased from gone`)

const Reservation = z.object({
  ref: z.string(),
  feature: z.string(),
  amount: z.number(),
  state: z.enum(['reserved', 'settled', 'released', 'expired']),
  spent: z.number(),
  expiresAt: z.string(),
})
export type Reservation = z.infer<typeof Reservation>

const reservation = sql.fragment`ref, feature, amount, state, spent, expires_at as "expiresAt"`

export const findReservation = (tx: Tx, {org, ref}: {org: string; ref: string}) =>
  tx.maybeOne(sql.type(Reservation)`select ${reservation} from credit_reservations where org_id = ${org} and ref = ${ref}`)

/** Those of the org that nobody settled in time. */
export const listAbandoned = (tx: Tx, org: string) =>
  tx.any(sql.type(Reservation)`
    select ${reservation} from credit_reservations where org_id = ${org} and state = 'reserved' and expires_at <= lading_now()`)

/** Orgs that have such. */
export const listOrgsToSweep = (db: Db, limit: number) =>
  db.anyFirst(sql.type(z.object({org: z.string()}))`
    select distinct org_id as org from credit_reservations where state = 'reserved' and expires_at <= lading_now() limit ${limit}`)

type NewReservation = {org: string; ref: string; feature: string; amount: number; seconds: number}

/**
 * Sets credits aside of the grants in the order they are spent in: included before purchased, what expires first before what lasts. The
 * account is held, and has them.
 */
export const insertReservation = async (tx: Tx, {org, ref, feature, amount, seconds}: NewReservation) => {
  await tx.query(sql.type(Empty)`
    insert into credit_reservations (org_id, ref, feature, amount, expires_at)
    values (${org}, ${ref}, ${feature}, ${amount}, lading_now() + make_interval(secs => ${seconds}))`)
  await holdCredits(tx, {org, ref, amount})
}

export const holdCredits = (tx: Tx, {org, ref, amount}: {org: string; ref: string; amount: number}) =>
  tx.query(sql.type(Empty)`
    with free as (
      select ref, remaining - held as free,
        sum(remaining - held) over (order by pool, expires_at nulls last, created_at, ref) - (remaining - held) as before
      from credit_grants where org_id = ${org} and remaining > held and (expires_at is null or expires_at > lading_now())),
    taken as (select ref, least(free, ${amount} - before)::int8 as amount from free where before < ${amount}),
    held as (update credit_grants g set held = held + taken.amount from taken where g.org_id = ${org} and g.ref = taken.ref)
    insert into credit_holds (org_id, ref, grant_ref, amount) select ${org}, ${ref}, ref, amount from taken
    on conflict (org_id, ref, grant_ref) do update set amount = credit_holds.amount + excluded.amount`)

/** Spends so many of the credits held, in the same order, and gives the others back to their grants. Answers what was spent, by pool. */
export const spendHeld = async (tx: Tx, {org, ref, spent}: {org: string; ref: string; spent: number}) => {
  const sums = await tx.one(sql.type(Sums)`
    with held as (
      select grant_ref, pool, amount, sum(amount) over (order by pool, expires_at nulls last, created_at, grant_ref) - amount as before
      from credit_holds h join credit_grants g on g.org_id = h.org_id and g.ref = grant_ref
      where h.org_id = ${org} and h.ref = ${ref}),
    parts as (select grant_ref, pool, amount, greatest(0, least(amount, ${spent} - before))::int8 as spent from held),
    given as (
      update credit_grants g set remaining = remaining - parts.spent, held = held - parts.amount
      from parts where g.org_id = ${org} and g.ref = parts.grant_ref)
    select coalesce(sum(spent) filter (where pool = 'included'), 0)::int8 as included,
      coalesce(sum(spent) filter (where pool = 'purchased'), 0)::int8 as purchased from parts`)
  await tx.query(sql.type(Empty)`delete from credit_holds where org_id = ${org} and ref = ${ref}`)
  return sums
}

export const setReserved = (tx: Tx, {org, ref, amount}: {org: string; ref: string; amount: number}) =>
  tx.query(sql.type(Empty)`update credit_reservations set amount = ${amount} where org_id = ${org} and ref = ${ref}`)

type Ended = {org: string; ref: string; state: 'settled' | 'released' | 'expired'; spent: number}

export const endReservation = (tx: Tx, {org, ref, state, spent}: Ended) =>
  tx.query(sql.type(Empty)`
    update credit_reservations set state = ${state}, spent = ${spent} where org_id = ${org} and ref = ${ref}`)

const Spent = z.object({feature: z.string(), credits: z.number()})

/** What has been spent since then, by feature. */
export const listSpent = (db: Db, {org, since}: {org: string; since: string}) =>
  db.any(sql.type(Spent)`
    select coalesce(feature, '') as feature, -sum(included + purchased)::int8 as credits
    from credit_entries where org_id = ${org} and kind = 'settle' and created_at >= ${since} group by 1 having sum(included + purchased) < 0 order by 1`)
