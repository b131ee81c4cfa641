import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

const Empty = z.object({})

const TopupState = z.enum(['pending', 'unknown', 'succeeded', 'declined', 'failed'])

const Attempt = z.object({
  id: z.string(),
  org: z.string(),
  month: z.string(),
  packKey: z.string(),
  quantity: z.number(),
  credits: z.number(),
  params: z.record(z.string(), z.json()),
  state: TopupState,
  intentId: z.string().nullable(),
  invoiceId: z.string().nullable(),
  /** The database's time, from which the age of the attempt is computed. */
  now: z.string(),
})
export type Attempt = z.output<typeof Attempt>

const attempt = sql.fragment`id, org_id as org, month, pack_key as "packKey", quantity, credits, params, state, intent_id as "intentId",
  invoice_id as "invoiceId", lading_now() as now`
const month = sql.fragment`to_char(lading_now() at time zone 'UTC', 'YYYY-MM')`

type Settings = {org: string; enabled: boolean; pack: string | null; threshold: number | null; monthlyCap: number | null}

export const setTopup = (tx: Tx, {org, enabled, pack, threshold, monthlyCap}: Settings) =>
  tx.query(sql.type(Empty)`
    update billing_accounts set topup_enabled = ${enabled}, topup_pack = ${pack}, topup_threshold = ${threshold},
      topup_monthly_cap = ${monthlyCap}, topup_stopped = null
    where org_id = ${org}`)

/** Returns false if top-ups were not enabled. */
export const stopTopup = async (tx: Tx, {org, reason}: {org: string; reason: string}) => {
  const {rowCount} = await tx.query(sql.type(Empty)`
    update billing_accounts set topup_enabled = false, topup_stopped = ${reason} where org_id = ${org} and topup_enabled`)
  return rowCount === 1
}

/** Enables top-ups again if they were stopped for one of these reasons. Returns whether they were. */
export const resumeTopup = async (tx: Tx, {org, reasons}: {org: string; reasons: readonly string[]}) => {
  const {rowCount} = await tx.query(sql.type(Empty)`
    update billing_accounts set topup_enabled = true, topup_stopped = null
    where org_id = ${org} and not topup_enabled and topup_stopped = any(${sql.array([...reasons], 'text')})`)
  return rowCount === 1
}

const Month = z.object({month: z.string(), counted: z.number(), open: z.string().nullable(), now: z.string()})

/**
 * Reads the AI credits that top-ups of this month added or may still add, without those of the attempt `except`. Also reads the id of the open
 * attempt.
 */
export const readMonth = (db: Db, {org, except = null}: {org: string; except?: string | null}) =>
  db.one(sql.type(Month)`
    select ${month} as month,
      (select coalesce(sum(credits), 0)::int8 from topup_attempts
        where org_id = ${org} and month = ${month} and state in ('pending', 'unknown', 'succeeded') and id is distinct from ${except}) as counted,
      (select id from topup_attempts where org_id = ${org} and state in ('pending', 'unknown')) as open,
      lading_now() as now`)

type NewAttempt = {id: string; org: string; month: string; packKey: string; quantity: number; credits: number}

/** The caller has locked the credit account and checked that no other attempt is open. */
export const insertAttempt = (tx: Tx, {id, org, month: of, packKey, quantity, credits}: NewAttempt) =>
  tx.query(sql.type(Empty)`
    insert into topup_attempts (id, org_id, month, pack_key, quantity, credits) values (${id}, ${org}, ${of}, ${packKey}, ${quantity}, ${credits})`)

export const findAttempt = (db: Db, {org, id}: {org: string; id: string}) =>
  db.maybeOne(sql.type(Attempt)`select ${attempt} from topup_attempts where org_id = ${org} and id = ${id}`)

export const findLastAsked = (db: Db, org: string) =>
  db.maybeOne(sql.type(Attempt)`
    select ${attempt} from topup_attempts where org_id = ${org} and params <> '{}' order by id desc limit 1`)

export const listOpenAttempts = (db: Db, {org, limit}: {org: string | null; limit: number}) =>
  db.any(sql.type(Attempt)`
    select ${attempt} from topup_attempts where state in ('pending', 'unknown') and (${org === null} or org_id = ${org}) order by id limit ${limit}`)

/** Marks the attempt as possibly charged. Returns null if the attempt is not pending. */
export const beginAttempt = (tx: Tx, {id, month: of, params}: {id: string; month: string; params: object}) =>
  tx.maybeOne(sql.type(Attempt)`
    update topup_attempts set state = 'unknown', month = ${of}, params = ${sql.jsonb(params as never)}
    where id = ${id} and state = 'pending' returning ${attempt}`)

/** Changes the month of an attempt that may have been charged. Returns null if the attempt has another state. */
export const setMonth = (tx: Tx, {id, month: of}: {id: string; month: string}) =>
  tx.maybeOne(sql.type(Attempt)`update topup_attempts set month = ${of} where id = ${id} and state = 'unknown' returning ${attempt}`)

type EndedTopup = {id: string; state: 'succeeded' | 'declined' | 'failed'; intent?: string | null; paidIn?: string | null}

/**
 * Ends an attempt. Returns false if the attempt has ended already. Exception: `succeeded` replaces `declined` or `failed`, because the provider
 * charged after all. `paidIn`: the month of the charge. It is stored if it is later than the attempt's month.
 */
export const endAttempt = async (tx: Tx, {id, state, intent = null, paidIn = null}: EndedTopup) => {
  const {rowCount} = await tx.query(sql.type(Empty)`
    update topup_attempts set state = ${state}, intent_id = coalesce(${intent}, intent_id), month = greatest(month, ${paidIn}), settled_at = lading_now(),
      invoice_state = case when ${state} = 'succeeded' then 'due' else invoice_state end
    where id = ${id} and (state in ('pending', 'unknown') or (${state} = 'succeeded' and state <> 'succeeded'))`)
  return rowCount === 1
}

export const listUninvoiced = (db: Db, limit: number) =>
  db.any(sql.type(Attempt)`select ${attempt} from topup_attempts where invoice_state = 'due' order by id limit ${limit}`)

type InvoiceStep = {id: string; invoice: string | null; state: 'due' | 'issued' | 'failed'}

export const setTopupInvoice = (db: Db, {id, invoice, state}: InvoiceStep) =>
  db.query(sql.type(Empty)`
    update topup_attempts set invoice_id = coalesce(${invoice}, invoice_id), invoice_state = ${state} where id = ${id} and invoice_state = 'due'`)

export const dropPending = (tx: Tx, org: string) =>
  tx.query(sql.type(Empty)`
    update topup_attempts set state = 'failed', settled_at = lading_now() where org_id = ${org} and state = 'pending'`)

/**
 * Lists open orgs with top-ups, below their credit threshold, whose monthly cap has room for a pack and that have no open attempt. Without this list,
 * only consumption triggers a top-up. Includes orgs with expired credits that are still counted, so that the caller can check them.
 */
export const listOrgsToTopUp = (db: Db, {after, limit}: {after: string; limit: number}) =>
  db.anyFirst(sql.type(z.object({org: z.string()}))`
    select b.org_id as org
    from billing_accounts b
    join orgs on orgs.id = b.org_id and closed_at is null
    join credit_packs p on p.key = topup_pack
    left join credit_accounts c using (org_id)
    where topup_enabled and b.org_id > ${after}
      and (coalesce(c.included + c.purchased - c.reserved + c.included_fraction + c.purchased_fraction - c.reserved_fraction, 0) < topup_threshold
        or exists (select from credit_grants g where g.org_id = b.org_id
          and remaining + remaining_fraction > held + held_fraction and expires_at <= lading_now()))
      and not exists (select from topup_attempts a where a.org_id = b.org_id and state in ('pending', 'unknown'))
      and p.credits <= topup_monthly_cap - (select coalesce(sum(credits), 0) from topup_attempts a
        where a.org_id = b.org_id and month = ${month} and state = 'succeeded')
    order by 1 limit ${limit}`)
