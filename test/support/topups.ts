import {z} from 'zod'
import {holdCurrent} from '../../shared/billing/credits/balance.ts'
import {releaseCredits, reserveCredits, settleCredits} from '../../shared/billing/credits/reserve.ts'
import {settleTopups} from '../../shared/billing/topup.ts'
import {describeTopup} from '../../shared/billing/topup-settings.ts'
import {startTopups} from '../../shared/billing/topup-trigger.ts'
import {sql} from '../../sql/database.ts'
import {type Billing, seedSubscription} from './billing.ts'
import {ok} from './importing.ts'

const Attempt = z.object({
  id: z.string(),
  month: z.string(),
  quantity: z.number(),
  credits: z.number(),
  state: z.string(),
  intent: z.string().nullable(),
})

type OpenToppingInput = {packKey?: string; threshold?: number; monthlyCap?: number}

/** Creates an org with a card and a subscription at the provider, and with these top-up settings. No worker runs. */
export const openTopping = async (
  billing: Billing,
  {packKey = 'credits_500', threshold = 20, monthlyCap = 1000}: OpenToppingInput = {},
) => {
  const {house, payment} = billing
  const {org, token} = await house.makeOrg()
  const subscription = await seedSubscription(billing, {org, planKey: 'team'})
  const customer = subscription.customer as string
  const call = house.as(token)
  const ask = (more: object = {}) => call('POST', '/billing/autotopup', {enabled: true, packKey, threshold, monthlyCap, ...more})
  await ok(ask(), 200)
  let uses = 0
  const reserve = (amount: number, ref = `use:${++uses}`) =>
    house.db.transaction(tx => reserveCredits(tx, house.queue, {org, feature: 'test', amount, ref}))
  const spend = async (amount: number) => {
    const ref = `use:${++uses}`
    await reserve(amount, ref)
    return house.db.transaction(tx => settleCredits(tx, house.queue, {org, ref, amount}))
  }
  const release = (ref: string) => house.db.transaction(tx => releaseCredits(tx, {org, ref}))
  const attempts = () =>
    house.db.any(sql.type(Attempt)`
      select id, month, quantity, credits, state, intent_id as intent from topup_attempts where org_id = ${org} order by id`)
  return {
    org,
    token,
    call,
    customer,
    card: subscription.default_payment_method as string,
    ask,
    reserve,
    spend,
    release,
    attempts,
    /** Reads the settings without the API, because sessions expire when the clock moves. */
    read: () => describeTopup(house.db, org),
    balance: async () => (await house.db.transaction(tx => holdCurrent(tx, org))).balance,
    settle: () => settleTopups(house.tools, org),
    start: () => startTopups(house, {most: 1000}),
    intents: () => payment.all('payment_intent').filter(one => one.customer === customer && one.metadata.kind === 'autotopup'),
    jobs: async () => (await house.queue.findJobs<{org: string}>('billing.topup')).filter(({data}) => data.org === org),
    kinds: () =>
      house.db.anyFirst(sql.type(z.object({kind: z.string()}))`select kind from notices where org_id = ${org} order by notice_no`),
  }
}
export type Topping = Awaited<ReturnType<typeof openTopping>>
