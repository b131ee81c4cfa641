import type {ExecutionContext} from 'ava'
import {movePlan} from '../shared/entitlements/plan.ts'
import {sql} from '../sql/database.ts'
import {findPlanVersion, lockOrgPlan} from '../sql/plans.ts'
import type {Answered} from './client.ts'
import {ok} from './importing.ts'
import type {World} from './world.ts'

/** Puts an org on a version of a plan, as staff do. */
export const place = async (house: World, org: string, planVersionId: string) =>
  ok(house.as(house.adminToken)('POST', `/staff/orgs/${org}/plan`, {planVersionId, reason: 'A test'}), 200)

/** Moves it past everybody, as a reading of the provider does: staff move nobody who pays. */
export const move = ({db}: World, org: string, planVersionId: string) =>
  db.transaction(async tx => {
    await lockOrgPlan(tx, org)
    return movePlan(tx, {org, to: (await findPlanVersion(tx, planVersionId))!, status: 'active', anchor: null})
  })

/** A plan with less of something than the free one has; nobody is pointed to it. */
export const makePlan = async ({db}: World, key: string, limits: object) => {
  await db.query(sql.unsafe`
    insert into plan_versions (id, key, version, name, rank, limits)
    select ${`${key}.1`}, ${key}, 1, ${key}, 5, limits || ${sql.jsonb(limits as never)} from plan_versions where id = 'free.2'`)
  return `${key}.1`
}

/** 402 with the balance, and with these ways out of it in this order. */
export const refused = (t: ExecutionContext<any>, {status, body, text}: Answered, code: string, lift: object[], says = /\S/) => {
  t.is(status, 402, text)
  t.is(body.code, code)
  t.regex(body.error, says)
  for (const name of ['included', 'purchased', 'reserved', 'available']) t.is(typeof body.balance[name], 'number', text)
  t.is(body.balance.available, body.balance.included + body.balance.purchased - body.balance.reserved)
  t.true(body.balance.periodStart < body.balance.periodEnd)
  t.like(body.lift, lift, text)
  t.is(body.lift.length, lift.length, text)
}
