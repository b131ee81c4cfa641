import type {ExecutionContext} from 'ava'
import {openSession} from '../../shared/accounts/session.ts'
import {findBillingAccount} from '../../sql/billing-accounts.ts'
import {sql} from '../../sql/database.ts'
import type {Entry} from '../simulators/payment/state.ts'
import {type Billing, seedSubscription} from './billing.ts'
import {ok} from './importing.ts'

export type PlanKey = 'team' | 'business' | 'enterprise'
export type Interval = 'month' | 'year'
export type PayerPlace = {planKey: PlanKey; interval?: Interval}

/** The pending change before a test: `N` for none, `D` for a downgrade, `C` for a cancellation. */
export type WaitingPayer = 'N' | 'D' | 'C'

/** An org with a paid plan, and functions that change the plan as its admin. */
export type Payer = Awaited<ReturnType<typeof openPayer>>

export const openPayer = async (billing: Billing, {planKey, interval = 'month', card}: PayerPlace & {card?: string}) => {
  const {house, payment} = billing
  const {org, person, token} = await house.makeOrg({role: 'admin'})
  const {id, customer} = await seedSubscription(billing, {org, planKey, interval, ...(card === undefined ? {} : {card})})
  let call = house.as(token)
  const found = () => payment.find(id)!
  return {
    org,
    person,
    token,
    id,
    customer: customer as string,
    call: (...asked: Parameters<typeof call>) => call(...asked),
    /** Signs in again after the session has expired. */
    signIn: async () => {
      call = house.as(await openSession(house.db, house.config, {person, org, role: 'admin'}))
    },
    ask: (body: object) => call('POST', `/orgs/${org}/billing/plan`, body),
    preview: (body: object) => call('POST', `/orgs/${org}/billing/plan/preview`, body),
    takeBack: () => call('DELETE', `/orgs/${org}/billing/plan/pending`),
    found,
    price: () => found().items.data[0].price.id as string,
    schedule: () => (found().schedule === null ? null : payment.find(found().schedule)!),
    charged: () => payment.money(customer as string).charged,
    changes: () => listChanges(billing, org),
    isHeld: async () => (await findBillingAccount(house.db, org))!.isHeld,
  }
}

/** Creates a payer with a pending change: none, a downgrade to Team monthly, or a cancellation. */
export const openWaiting = async (billing: Billing, waiting: WaitingPayer, place: PayerPlace & {card?: string}) => {
  const payer = await openPayer(billing, place)
  if (waiting === 'D') await ok(payer.ask({planKey: 'team'}), 200)
  if (waiting === 'C') await ok(payer.ask({planKey: 'free'}), 200)
  billing.payment.clearJournal()
  return payer
}

export type ChangeRow = {id: string; kind: string; state: string; error: string | null; person: string; target: any; params: any}

const listChanges = async ({house}: Billing, org: string): Promise<ChangeRow[]> =>
  (await house.db.any(sql.unsafe`
    select id, kind, state, error, person_id as person, target, params from plan_changes where org_id = ${org}
    order by created_at, id`)) as ChangeRow[]

/** Lists the write calls to the provider in order, without previews, each by one word. */
export const callsOf = ({payment}: Billing): string[] => payment.journal().filter(isWrite).map(describeCall)

const isWrite = ({method, path}: Entry) => method === 'POST' && !path.endsWith('/create_preview')

const describeCall = ({path}: Entry) => {
  const [, , collection, id, verb] = path.split('/')
  if (collection === 'subscriptions') return 'update'
  return verb ?? (id === undefined ? 'create' : 'phases')
}

/** Returns the pending change that the provider reports. */
export const waitsAt = (payer: Payer): WaitingPayer => {
  const {cancel_at, cancel_at_period_end} = payer.found()
  if (cancel_at !== null || cancel_at_period_end) return 'C'
  const phases = payer.schedule()?.phases ?? []
  return phases.length > 1 ? 'D' : 'N'
}

/** Returns the whole subscription and schedule as text, for exact comparison. */
export const frozen = (payer: Payer): string => JSON.stringify([payer.found(), payer.schedule()])

export const refused = async (t: ExecutionContext<any>, asked: Promise<any>, status: number, code: string) => {
  const answer = await asked
  t.is(answer.status, status, answer.text)
  t.is(answer.body.code, code, answer.text)
  return answer
}
