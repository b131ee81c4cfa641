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
  /** What the provider is asked with, to the byte. */
  params: z.record(z.string(), z.json()),
  /** Older than the provider remembers idempotency keys for certain. */
  isOld: z.boolean(),
})
export type Checkout = z.output<typeof Checkout>

const checkout = sql.fragment`id, org_id as org, kind, seq, session_id as session, state, plan_version_id as "planVersionId", interval,
  after_trial as "afterTrial", pack_key as "packKey", quantity, credits, params, created_at < lading_now() - interval '23 hours' as "isOld"`

/** The next of the org's numbers for plan Checkouts: whoever has the highest is the one made last. */
export const takeCheckoutSeq = (db: Db, org: string) =>
  db.oneFirst(sql.type(z.object({seq: z.number()}))`
    update billing_accounts set checkout_seq = checkout_seq + 1 where org_id = ${org} returning checkout_seq as seq`)

type NewCheckout = {id: string; org: string; person: string; seq: number; params: object} & (
  | {kind: 'plan'; planVersionId: string; interval: 'month' | 'year'; afterTrial: boolean}
  | {kind: 'credit_pack'; packKey: string; quantity: number; credits: number}
)

/** Answers its `params` as they are kept: what is sent at first is what is sent again. */
export const insertCheckout = (db: Db, made: NewCheckout) => {
  const {id, org, person, seq, kind, params} = made
  const plan = made.kind === 'plan' ? made : null
  const pack = made.kind === 'credit_pack' ? made : null
  return db.oneFirst(sql.type(Checkout.pick({params: true}))`
    insert into checkouts (id, org_id, person_id, seq, kind, params, plan_version_id, interval, after_trial, pack_key, quantity, credits)
    values (${id}, ${org}, ${person}, ${seq}, ${kind}, ${sql.jsonb(params as never)}, ${plan?.planVersionId ?? null}, ${plan?.interval ?? null},
      ${plan?.afterTrial ?? false}, ${pack?.packKey ?? null}, ${pack?.quantity ?? null}, ${pack?.credits ?? null})
    returning params`)
}

type Opened = {id: string; session: string; expiresAt: string}

/** The page is there. */
export const setCheckoutOpen = (db: Db, {id, session, expiresAt}: Opened) =>
  db.query(sql.type(Empty)`
    update checkouts set session_id = ${session}, expires_at = ${expiresAt}, state = 'open' where id = ${id} and state in ('started', 'open')`)

/** Makes this session the org's one open page for a plan, unless a later number was taken meanwhile; answers whether it did. */
export const setPlanCheckout = async (tx: Tx, {org, seq, session}: {org: string; seq: number; session: string}) => {
  const {rowCount} = await tx.query(sql.type(Empty)`
    update billing_accounts set plan_checkout = ${session} where org_id = ${org} and checkout_seq = ${seq}`)
  return rowCount === 1
}

/** It is not the open page any more, where it was. */
export const clearPlanCheckout = (tx: Tx, {org, session}: {org: string; session: string}) =>
  tx.query(sql.type(Empty)`update billing_accounts set plan_checkout = null where org_id = ${org} and plan_checkout = ${session}`)

/** By the session; or by our own id, which a session carries, where nobody lived to note which session it became. */
export const findCheckout = (db: Db, {session, id}: {session: string; id: string | null}) =>
  db.maybeOne(sql.type(Checkout)`
    select ${checkout} from checkouts where session_id = ${session} or (session_id is null and id = ${id})`)

export const lockCheckout = (tx: Tx, id: string) =>
  tx.maybeOne(sql.type(Checkout)`select ${checkout} from checkouts where id = ${id} for no key update`)

type Ended = {id: string; session: string | null; state: 'paid' | 'complete' | 'expired' | 'failed'}

export const endCheckout = (db: Db, {id, session, state}: Ended) =>
  db.query(sql.type(Empty)`
    update checkouts set state = ${state}, session_id = coalesce(session_id, ${session}), settled_at = lading_now() where id = ${id}`)

/** The org's pages for a plan that were made before that number, and may still be open. */
export const listOpenPlanCheckouts = (db: Db, {org, before}: {org: string; before: number}) =>
  db.any(sql.type(Checkout)`
    select ${checkout} from checkouts where org_id = ${org} and kind = 'plan' and state = 'open' and seq < ${before} order by seq`)

/** The org's that have been neither paid nor given up for so long, the oldest first. */
export const listStaleCheckouts = (db: Db, {org, minutes}: {org: string; minutes: number}) =>
  db.any(sql.type(Checkout)`
    select ${checkout} from checkouts
    where org_id = ${org} and state in ('started', 'open') and created_at < lading_now() - make_interval(mins => ${minutes})
    order by id limit 1000`)
