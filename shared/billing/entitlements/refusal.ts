import type {Db, Tx} from '../../../sql/database.ts'
import {findNewestPlan, type Limits, listPacks, listSold, type PlanVersion} from '../../../sql/plans.ts'
import {findSubscription} from '../../../sql/subscriptions.ts'
import {type Code, Refusal} from '../../errors.ts'
import {type Balance, holdCurrent} from '../credits/balance.ts'
import {isOver} from '../subscription.ts'
import {obstacleOf, type PlanStatus, TRIAL} from './plan-status.ts'
import {leftOf} from './window.ts'

/**
 * One way to make the same request succeed. `fewer`: request at most this many rows. `trial`: an owner starts the trial. `period`: wait for the next
 * period. `payment`: pay or change the card. `limit`: the org's limit right after the change to this plan or trial. Null if the request needs a
 * feature instead of a higher limit.
 */
export type Lift =
  | {by: 'fewer'; rows: number}
  | {by: 'trial'; limit: number | null}
  | {by: 'plan'; planKey: string; name: string; limit: number | null}
  | {by: 'pack'; packKey: string; name: string; credits: number}
  | {by: 'overage'}
  | {by: 'period'; at: string}
  | {by: 'payment'}
  | {by: 'support'}

type LimitRefusal = {code: Code; message: string; lift: Lift[]; extra?: Record<string, unknown>}

/** Builds a refusal with status 402, with the credit balance and the ways to lift the limit, nearest first. */
export const limitRefusal = (balance: Balance, {code, message, lift, extra = {}}: LimitRefusal): Refusal =>
  new Refusal(code, message, {...extra, lift, balance})

/**
 * Returns the ways to lift a numeric limit: the trial, if the org may still start it, then the lowest plan with room for `wanted`. `present`: the
 * present limit. Callers pass it only for limits that count per period, such as rows and AI credits.
 */
export const findRoom = async (db: Db, planStatus: PlanStatus, limit: keyof Limits, wanted: number, present?: number): Promise<Lift[]> => {
  const {plan, trialStartedAt, sandbox} = planStatus
  const trial = await findNewestPlan(db, TRIAL)
  const mayTry = trialStartedAt === null && !sandbox && plan.rank < trial.rank && trial.limits[limit] >= wanted
  const share = present === undefined ? 1 : await shareOfUpgrade(db, planStatus)
  const limitOn = ({limits}: PlanVersion) =>
    share === 1 ? limits[limit] : Math.min(limits[limit], present! + Math.round((limits[limit] - plan.limits[limit]) * share))
  const room = (await listSold(db)).find(to => to.rank > plan.rank && limitOn(to) >= wanted)
  return [
    ...(mayTry ? [{by: 'trial', limit: trial.limits[limit]} as const] : []),
    ...(room ? [{by: 'plan', planKey: room.key, name: room.name, limit: limitOn(room)} as const] : []),
  ]
}

/**
 * Returns the share of a higher plan's additional rows and AI credits that an upgrade adds now. An org that pays for its plan keeps its period, so an
 * upgrade adds the share that is left of the period. A sandbox of such an org gets nothing. Any other org begins a new period and gets the full
 * amount.
 */
const shareOfUpgrade = async (db: Db, {org, payer, plan, window, now}: PlanStatus): Promise<number> => {
  const paid = await findSubscription(db, payer)
  if (!paid || isOver(paid) || paid.planVersionId !== plan.id) return 1
  return org === payer ? leftOf(window, now) : 0
}

export const findPlanWith = async (db: Db, {plan, trialStartedAt, sandbox}: PlanStatus, feature: string): Promise<Lift[]> => {
  const trial = await findNewestPlan(db, TRIAL)
  const mayTry = trialStartedAt === null && !sandbox && plan.rank < trial.rank && trial.features.includes(feature)
  const having = (await listSold(db)).find(({rank, features}) => rank > plan.rank && features.includes(feature))
  return [
    ...(mayTry ? [{by: 'trial', limit: null} as const] : []),
    ...(having ? [{by: 'plan', planKey: having.key, name: having.name, limit: null} as const] : []),
  ]
}

/** Finds the smallest pack for sale with at least `missing` credits, or else the largest pack. Empty if no pack is for sale. */
export const findPack = async (db: Db, missing: number): Promise<Lift[]> => {
  const packs = (await listPacks(db)).filter(({paymentPriceId}) => paymentPriceId !== null)
  const pack = packs.find(({credits}) => credits >= missing) ?? packs.at(-1)
  return pack ? [{by: 'pack', packKey: pack.key, name: pack.name, credits: pack.credits}] : []
}

/** Throws if the org is suspended, or past due for longer than the grace period. */
export const assertGoodStatus = async (tx: Tx, planStatus: PlanStatus): Promise<void> => {
  const code = obstacleOf(planStatus)
  if (code === null) return
  const {balance} = await holdCurrent(tx, planStatus.org)
  throw statusRefusal(code, balance, planStatus)
}

export const statusRefusal = (code: 'STATUS_SUSPENDED' | 'STATUS_PAST_DUE', balance: Balance, {unpaid}: {unpaid: boolean}): Refusal => {
  if (code === 'STATUS_SUSPENDED' && !unpaid)
    return limitRefusal(balance, {code, message: 'This org is suspended. Contact support', lift: [{by: 'support'}]})
  return code === 'STATUS_SUSPENDED'
    ? limitRefusal(balance, {
        code,
        message: 'All attempts to collect the payment for this plan failed. Pay the invoice or change the card in the billing portal',
        lift: [{by: 'payment'}],
      })
    : limitRefusal(balance, {
        code,
        message: 'The last payment for this plan failed more than a week ago. Pay the invoice or change the card in the billing portal',
        lift: [{by: 'payment'}],
      })
}

type CountRefusalInput = {
  org: string
  code: 'LIMIT_MODULES' | 'LIMIT_SCHEDULES'
  limit: 'modules' | 'schedules'
  wanted: number
  used: number
  says: string
}

export const countRefusal = async (tx: Tx, {org, code, limit, wanted, used, says: message}: CountRefusalInput): Promise<Refusal> => {
  const {planStatus, balance} = await holdCurrent(tx, org)
  const lift = await findRoom(tx, planStatus, limit, wanted)
  return limitRefusal(balance, {code, message, lift, extra: {limit: planStatus.plan.limits[limit], used}})
}
