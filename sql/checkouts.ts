import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

const Empty = z.object({})

const Checkout = z.object({
  id: z.string(),
  org: z.string(),
  kind: z.enum(['plan', 'credit_pack']),
  seq: z.number(),
  session: z.string().nullable(),
  state: z.enum(['started', 'open', 'paid', 'complete', 'expired', 'failed']),
  planVersionId: z.string().nullable(),
  interval: z.enum(['month', 'year']).nullable(),
  afterTrial: z.boolean(),
  packKey: z.string().nullable(),
  quantity: z.number().nullable(),
  credits: z.number().nullable(),
  /** The exact parameters of the request to the provider. */
  params: z.record(z.string(), z.json()),
  /** Whether the Checkout is older than 23 hours, so that the provider may have forgotten its idempotency key. */
  isOld: z.boolean(),
})
export type Checkout = z.output<typeof Checkout>

const checkout = sql.fragment`id, org_id as org, kind, seq, session_id as session, state, plan_version_id as "planVersionId", interval,
  after_trial as "afterTrial", pack_key as "packKey", quantity, credits, params, created_at < lading_now() - interval '23 hours' as "isOld"`

/** Takes the org's next number for a plan Checkout. The newest Checkout has the highest number. */
export const takeCheckoutSeq = (db: Db, org: string) =>
  db.oneFirst(sql.type(z.object({seq: z.number()}))`
    update billing_accounts set checkout_seq = checkout_seq + 1 where org_id = ${org} returning checkout_seq as seq`)

type NewCheckout = {id: string; org: string; person: string; seq: number; params: object} & (
  | {kind: 'plan'; planVersionId: string; interval: 'month' | 'year'; afterTrial: boolean}
  | {kind: 'credit_pack'; packKey: string; quantity: number; credits: number}
)

/** Stores a Checkout. Returns the stored `params`, so that a repeated request is sent with the same parameters. */
export const insertCheckout = (db: Db, newCheckout: NewCheckout) => {
  const {id, org, person, seq, kind, params} = newCheckout
  const plan = newCheckout.kind === 'plan' ? newCheckout : null
  const pack = newCheckout.kind === 'credit_pack' ? newCheckout : null
  return db.oneFirst(sql.type(Checkout.pick({params: true}))`
    insert into checkouts (id, org_id, person_id, seq, kind, params, plan_version_id, interval, after_trial, pack_key, quantity, credits)
    values (${id}, ${org}, ${person}, ${seq}, ${kind}, ${sql.jsonb(params as never)}, ${plan?.planVersionId ?? null}, ${plan?.interval ?? null},
      ${plan?.afterTrial ?? false}, ${pack?.packKey ?? null}, ${pack?.quantity ?? null}, ${pack?.credits ?? null})
    returning params`)
}

type OpenedCheckout = {id: string; session: string; expiresAt: string}

export const setCheckoutOpen = (db: Db, {id, session, expiresAt}: OpenedCheckout) =>
  db.query(sql.type(Empty)`
    update checkouts set session_id = ${session}, expires_at = ${expiresAt}, state = 'open' where id = ${id} and state in ('started', 'open')`)

/** Stores this session as the org's only open Checkout page for a plan. Returns false if a later Checkout number (`seq`) was taken. */
export const setPlanCheckout = async (tx: Tx, {org, seq, session}: {org: string; seq: number; session: string}) => {
  const {rowCount} = await tx.query(sql.type(Empty)`
    update billing_accounts set plan_checkout = ${session} where org_id = ${org} and checkout_seq = ${seq}`)
  return rowCount === 1
}

export const clearPlanCheckout = (tx: Tx, {org, session}: {org: string; session: string}) =>
  tx.query(sql.type(Empty)`update billing_accounts set plan_checkout = null where org_id = ${org} and plan_checkout = ${session}`)

/**
 * Finds a Checkout by the provider's session. If the process died before it stored the session, finds the Checkout by our own id, which the session
 * contains.
 */
export const findCheckout = (db: Db, {session, id}: {session: string; id: string | null}) =>
  db.maybeOne(sql.type(Checkout)`
    select ${checkout} from checkouts where session_id = ${session} or (session_id is null and id = ${id})`)

export const lockCheckout = (tx: Tx, id: string) =>
  tx.maybeOne(sql.type(Checkout)`select ${checkout} from checkouts where id = ${id} for no key update`)

type EndedCheckout = {id: string; session: string | null; state: 'paid' | 'complete' | 'expired' | 'failed'}

export const endCheckout = (db: Db, {id, session, state}: EndedCheckout) =>
  db.query(sql.type(Empty)`
    update checkouts set state = ${state}, session_id = coalesce(session_id, ${session}), settled_at = lading_now() where id = ${id}`)

export const listOpenPlanCheckouts = (db: Db, {org, before}: {org: string; before: number}) =>
  db.any(sql.type(Checkout)`
    select ${checkout} from checkouts where org_id = ${org} and kind = 'plan' and state = 'open' and seq < ${before} order by seq`)

export const listStaleCheckouts = (db: Db, {org, minutes}: {org: string; minutes: number}) =>
  db.any(sql.type(Checkout)`
    select ${checkout} from checkouts
    where org_id = ${org} and state in ('started', 'open') and created_at < lading_now() - make_interval(mins => ${minutes})
    order by id limit 1000`)
