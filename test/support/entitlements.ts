import type {ExecutionContext} from 'ava'
import {movePlan} from '../../shared/billing/entitlements/plan.ts'
import {sql} from '../../sql/database.ts'
import {findPlanVersion, lockOrgPlan, type Status} from '../../sql/plans.ts'
import type {HttpAnswer} from './client.ts'
import {ok} from './importing.ts'
import type {TestDeployment} from './test-deployment.ts'

/** Gives an org a version of a plan, as staff do. */
export const place = async (house: TestDeployment, org: string, planVersionId: string) =>
  ok(house.as(house.adminToken)('POST', `/staff/orgs/${org}/plan`, {planVersionId, reason: 'A test'}), 200)

/** Gives an org a version of a plan, as a sync with the provider does. Staff cannot change the plan of a paying org. */
export const move = ({db}: TestDeployment, org: string, planVersionId: string, status: Status = 'active') =>
  db.transaction(async tx => {
    await lockOrgPlan(tx, org)
    return movePlan(tx, {org, to: (await findPlanVersion(tx, planVersionId))!, status, anchor: null})
  })

/** Creates a plan with the limits of the free plan, changed by `limits`. No refusal recommends it. */
export const makePlan = async ({db}: TestDeployment, key: string, limits: object) => {
  await db.query(sql.unsafe`
    insert into plan_versions (id, key, version, name, rank, limits)
    select ${`${key}.1`}, ${key}, 1, ${key}, 5, limits || ${sql.jsonb(limits as never)} from plan_versions where id = 'free.2'`)
  return `${key}.1`
}

/** Asserts a 402 response with this code, a balance, and these ways to lift the limit, in order. */
export const refused = (t: ExecutionContext<any>, {status, body, text}: HttpAnswer, code: string, lift: object[], says = /\S/) => {
  t.is(status, 402, text)
  t.is(body.code, code)
  t.regex(body.error, says)
  for (const name of ['included', 'purchased', 'reserved', 'available']) t.is(typeof body.balance[name], 'number', text)
  t.is(body.balance.available, body.balance.included + body.balance.purchased - body.balance.reserved)
  t.true(body.balance.periodStart < body.balance.periodEnd)
  t.like(body.lift, lift, text)
  t.is(body.lift.length, lift.length, text)
}
