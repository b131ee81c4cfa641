import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

const Empty = z.object({})

/** The plan that a change leads to. `planVersionId`, `interval` and `price` are null for `free`. */
const Target = z.object({
  planKey: z.string(),
  planVersionId: z.string().nullable(),
  interval: z.enum(['month', 'year']).nullable(),
  price: z.string().nullable(),
})
export type ChangeTarget = z.output<typeof Target>

/** One call to the provider, as planned or as sent. `from`: the state of the subscription before the call. */
const Call = z.object({
  name: z.enum(['update', 'schedule', 'phases', 'release']),
  on: z.string(),
  params: z.record(z.string(), z.unknown()),
  key: z.string(),
  from: z.string(),
  done: z.boolean(),
})
export type PlannedCall = z.output<typeof Call>

/** The parameters of a plan change. `prorationDate`: in Unix seconds. `invoice`: the newest invoice before the change. */
const Params = z.object({
  subscription: z.string(),
  prorationDate: z.number(),
  invoice: z.string().nullable(),
  calls: z.array(Call),
})

const State = z.enum(['started', 'accepted', 'landed', 'declined', 'refused', 'unknown', 'partial', 'superseded', 'confirming'])
export type ChangeState = z.output<typeof State>

const Change = z.object({
  id: z.string(),
  org: z.string(),
  person: z.string().nullable(),
  /** The API token that asked for the change. Null: a session. */
  token: z.string().nullable(),
  kind: z.enum(['now', 'at_renewal', 'cancel', 'take_back']),
  target: Target,
  params: Params,
  state: State,
  /** Whether the provider still knows the idempotency keys of the change. */
  isYoung: z.boolean(),
  settledAt: z.string().nullable(),
})
export type PlanChange = z.output<typeof Change>

/**
 * The hours for which we rely on an idempotency key. The provider keeps keys for at least 24 hours, and one hour is reserved for clock
 * differences.
 */
const keysHours = 23

const change = sql.fragment`id, org_id as org, person_id as person, token_id as token, kind, target, params, state,
  created_at > lading_now() - make_interval(hours => ${keysHours}) as "isYoung", settled_at as "settledAt"`

export type NewPlanChange = Pick<PlanChange, 'id' | 'org' | 'person' | 'token' | 'kind' | 'target' | 'params'>

export const insertPlanChange = (tx: Tx, {id, org, person, token, kind, target, params}: NewPlanChange) =>
  tx.one(sql.type(Change)`
    insert into plan_changes (id, org_id, person_id, token_id, kind, target, params)
    values (${id}, ${org}, ${person}, ${token}, ${kind}, ${sql.jsonb(target)}, ${sql.jsonb(params as never)}) returning ${change}`)

/** Finds the org's change whose outcome is not known yet, or null. Ignores changes that wait for a payment confirmation. */
export const findUnsettledChange = (db: Db, org: string) =>
  db.maybeOne(sql.type(Change)`select ${change} from plan_changes where org_id = ${org} and state in ('started', 'unknown', 'partial')`)

export const setChangeParams = (tx: Tx, {org, id, params}: Pick<PlanChange, 'org' | 'id' | 'params'>) =>
  tx.query(sql.type(Empty)`update plan_changes set params = ${sql.jsonb(params as never)} where org_id = ${org} and id = ${id}`)

type SettledPlanChange = Pick<PlanChange, 'org' | 'id' | 'state'> & {error?: string | null}

export const setChangeState = (tx: Tx, {org, id, state, error = null}: SettledPlanChange) =>
  tx.query(sql.type(Empty)`
    update plan_changes set state = ${state}, error = ${error},
      settled_at = case when ${state} in ('started', 'unknown', 'partial', 'confirming') then null else lading_now() end
    where org_id = ${org} and id = ${id}`)

/** Lists changes that the provider accepted and that the stored subscription does not show yet, newest first. */
export const listAcceptedChanges = (db: Db, org: string) =>
  db.any(sql.type(Change)`
    select ${change} from plan_changes where org_id = ${org} and state = 'accepted' order by created_at desc, id desc`)

/** Finds the change that waits for a payment confirmation on the provider's page. */
export const findConfirmingChange = (db: Db, org: string) =>
  db.maybeOne(sql.type(Change)`
    select ${change} from plan_changes where org_id = ${org} and state = 'confirming' order by created_at desc, id desc limit 1`)

/** Finds the newest change that the stored subscription does not show yet, or null. The provider may have applied the change already. */
export const findChangeUnderWay = (db: Db, org: string) =>
  db.maybeOne(sql.type(Change)`
    select ${change} from plan_changes where org_id = ${org} and state in ('started', 'unknown', 'partial', 'accepted', 'confirming')
    order by created_at desc, id desc limit 1`)
