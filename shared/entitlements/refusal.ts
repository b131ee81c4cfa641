import type {Db, Tx} from '../../sql/database.ts'
import {findNewestPlan, type Limits, listPacks, listSold} from '../../sql/plans.ts'
import {type Balance, holdCurrent} from '../credits/balance.ts'
import {type Code, Refusal} from '../errors.ts'
import {obstacleOf, type Standing, TRIAL} from './standing.ts'

/**
 * One thing that would let the same request through. `fewer`: ask for at most so many. `plan`: it has room, or the feature. `trial`: an owner
 * may start one, and it has. `period`: the next one begins then.
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

type Refused = {code: Code; message: string; lift: Lift[]; extra?: Record<string, unknown>}

/** 402, with what the org has of credits and what would lift it, the nearest first. */
export const limitRefusal = (balance: Balance, {code, message, lift, extra = {}}: Refused): Refusal =>
  new Refusal(code, message, {...extra, lift, balance})

/** Of a limit that is a number of things: the trial where it is still to be had, then the lowest plan with room for `wanted`. */
export const findRoom = async (db: Db, {plan, trialStartedAt, sandbox}: Standing, limit: keyof Limits, wanted: number): Promise<Lift[]> => {
  const trial = await findNewestPlan(db, TRIAL)
  const mayTry = trialStartedAt === null && !sandbox && plan.rank < trial.rank && trial.limits[limit] >= wanted
  const room = (await listSold(db)).find(({rank, limits}) => rank > plan.rank && limits[limit] >= wanted)
  return [
    ...(mayTry ? [{by: 'trial', limit: trial.limits[limit]} as const] : []),
    ...(room ? [{by: 'plan', planKey: room.key, name: room.name, limit: room.limits[limit]} as const] : []),
  ]
}

/** The same of a feature. */
export const findPlanWith = async (db: Db, {plan, trialStartedAt, sandbox}: Standing, feature: string): Promise<Lift[]> => {
  const trial = await findNewestPlan(db, TRIAL)
  const mayTry = trialStartedAt === null && !sandbox && plan.rank < trial.rank && trial.features.includes(feature)
  const having = (await listSold(db)).find(({rank, features}) => rank > plan.rank && features.includes(feature))
  return [
    ...(mayTry ? [{by: 'trial', limit: null} as const] : []),
    ...(having ? [{by: 'plan', planKey: having.key, name: having.name, limit: null} as const] : []),
  ]
}

/** The smallest pack that is enough, or else the largest there is; only those that can be bought. */
export const findPack = async (db: Db, missing: number): Promise<Lift[]> => {
  const packs = (await listPacks(db)).filter(({paymentPriceId}) => paymentPriceId !== null)
  const pack = packs.find(({credits}) => credits >= missing) ?? packs.at(-1)
  return pack ? [{by: 'pack', packKey: pack.key, name: pack.name, credits: pack.credits}] : []
}

/** Refuses whatever is metered to an org that is suspended, or whose payment is late for longer than it may be. */
export const assertGoodStanding = async (tx: Tx, standing: Standing): Promise<void> => {
  const code = obstacleOf(standing)
  if (code === null) return
  const {balance} = await holdCurrent(tx, standing.org)
  throw statusRefusal(code, balance, standing)
}

export const statusRefusal = (code: 'STATUS_SUSPENDED' | 'STATUS_PAST_DUE', balance: Balance, {unpaid}: {unpaid: boolean}): Refusal => {
  if (code === 'STATUS_SUSPENDED' && !unpaid)
    return limitRefusal(balance, {code, message: 'This org is suspended: write to support', lift: [{by: 'support'}]})
  return code === 'STATUS_SUSPENDED'
    ? limitRefusal(balance, {
        code,
        message: 'What is open for this plan was not paid, however often it was tried: pay it, or change the card, at the billing portal',
        lift: [{by: 'payment'}],
      })
    : limitRefusal(balance, {
        code,
        message: 'The last payment for this plan failed more than a week ago: pay it, or change the card, to go on',
        lift: [{by: 'payment'}],
      })
}

type Counted = {
  org: string
  code: 'LIMIT_MODULES' | 'LIMIT_SCHEDULES'
  limit: 'modules' | 'schedules'
  wanted: number
  used: number
  says: string
}

/** Of things the org has at a time, not of what it uses up. */
export const countRefusal = async (tx: Tx, {org, code, limit, wanted, used, says: message}: Counted): Promise<Refusal> => {
  const {standing, balance} = await holdCurrent(tx, org)
  const lift = await findRoom(tx, standing, limit, wanted)
  return limitRefusal(balance, {code, message, lift, extra: {limit: standing.plan.limits[limit], used}})
}
