import test from 'ava'
import fc from 'fast-check'
import {Stripe} from 'stripe'
import type {Behaviour} from './payment/customers.ts'
import {Refusal} from './payment/wire.ts'
import {addCustomer, openPayment, openShop, type Payment, type Shop, subscribe} from './payment-caller.ts'

const day = 24 * 3600

type Plan = Exclude<keyof Shop, 'pack'>
type Step = {do: keyof typeof acts; plan: Plan; behaviour: string; proration: string; says: Behaviour; days: number}
type About = Payment & {shop: Shop; overage: string; customer: {id: string; card: string}; sub: Stripe.Subscription; step: Step}

const pickPlan = fc.constantFrom<Plan>('team', 'teamYear', 'business', 'businessYear')

test('for any sequence of actions, charges equal what was bought, and every answer is valid', async t => {
  const anyStep = fc.record<Step>({
    do: fc.constantFrom(...(Object.keys(acts) as Step['do'][])),
    plan: pickPlan,
    behaviour: fc.constantFrom('error_if_incomplete', 'error_if_incomplete', 'allow_incomplete', 'pending_if_incomplete'),
    proration: fc.constantFrom('always_invoice', 'always_invoice', 'create_prorations', 'none'),
    says: fc.constantFrom<Behaviour>('ok', 'ok', 'card_declined', 'authentication_required'),
    days: fc.constantFrom(1, 3, 12, 31, 370),
  })
  const walk = async (steps: Step[]) => {
    const opened = await openPayment(t)
    const {stripe, payment} = opened
    const shop = await openShop(stripe)
    const about = {...opened, shop, overage: await addOverage(stripe), customer: await addCustomer(stripe)}
    for (const step of steps) {
      const [sub] = (await stripe.subscriptions.list({customer: about.customer.id})).data
      const act = sub || free.includes(step.do) ? acts[step.do] : acts.subscribe
      await act({...about, sub: sub!, step}).catch(refused)
      const {money} = payment.state()
      if (money.difference !== 0 || money.refunded > money.charged) throw new Error(`After ${step.do}: ${JSON.stringify(money)}`)
      checkBooks(opened)
    }
    await stripe.events.list({limit: 100})
    await payment.stop()
  }
  await fc.assert(fc.asyncProperty(fc.array(anyStep, {minLength: 4, maxLength: 14}), walk), {seed: 20_261_102, numRuns: 25})
  t.pass()
})

/** Ignores refusals, which are valid answers. Throws for an internal error of the stand-in. */
const refused = (error: unknown) => {
  if (error instanceof Refusal) return
  if (!(error instanceof Stripe.errors.StripeError) || error.code === 'stand_in') throw error
}

const addOverage = async (stripe: Stripe): Promise<string> => {
  const meter = await stripe.billing.meters.create({display_name: 'Rows', event_name: 'rows', default_aggregation: {formula: 'sum'}})
  const {id} = await stripe.products.create({name: 'Rows'})
  const recurring = {interval: 'month', usage_type: 'metered', meter: meter.id} as const
  return (await stripe.prices.create({product: id, currency: 'eur', unit_amount: 1, recurring})).id
}

/** The actions that need no subscription. */
const free = ['wait', 'bank', 'buy', 'refund', 'pay what is open', 'try it']

const acts = {
  wait: ({payment, step}: About) => payment.advance(step.days * day),
  bank: async ({payment, customer, step}: About) => payment.setCard(customer.card, step.says),
  subscribe: ({stripe, customer, shop, step}: About) => subscribe(stripe, customer.id, shop[step.plan]),
  'try it': ({payment, stripe, customer, shop, step}: About) =>
    subscribe(stripe, customer.id, shop[step.plan], {trial_end: payment.now() + step.days * day}),
  change: (about: About) => changePlan(about, {}),
  'upgrade and stay': (about: About) => changePlan(about, {cancel_at: ''}),
  schedule: (about: About) => schedule(about),
  release: ({stripe, sub}: About) => stripe.subscriptionSchedules.release((sub.schedule as string) ?? 'sub_sched_none'),
  cancel: ({stripe, sub}: About) => stripe.subscriptions.update(sub.id, {cancel_at_period_end: true}),
  'take back': ({stripe, sub}: About) => stripe.subscriptions.update(sub.id, {cancel_at: ''}),
  stop: ({stripe, sub}: About) => stripe.subscriptions.cancel(sub.id),
  pause: ({payment, sub}: About) => payment.dashboard.pause(sub.id),
  resume: ({stripe, sub}: About) => stripe.subscriptions.resume(sub.id),
  buy: ({stripe, customer}: About) => {
    const pay = {payment_method: customer.card, confirm: true, off_session: true}
    return stripe.paymentIntents.create({amount: 1500, currency: 'eur', customer: customer.id, ...pay})
  },
  refund: ({payment, stripe}: About) => stripe.refunds.create({charge: payment.all('charge').at(-1)?.id ?? 'ch_none'}),
  'pay what is open': async ({stripe, customer}: About) => {
    const [invoice] = (await stripe.invoices.list({customer: customer.id, status: 'open'})).data
    if (invoice) await stripe.invoices.pay(invoice.id!)
  },
  'add overage': ({stripe, sub, overage}: About) =>
    stripe.subscriptionItems.create({subscription: sub.id, price: overage, proration_behavior: 'none'}),
  use: ({stripe, customer}: About) =>
    stripe.billing.meterEvents.create({event_name: 'rows', payload: {stripe_customer_id: customer.id, value: '70'}}),
} satisfies Record<string, (about: About) => Promise<unknown>>

const planItem = (sub: Stripe.Subscription) => sub.items.data.find(item => item.price.recurring!.usage_type === 'licensed')!

/** Changes the plan. Throws if the total of the invoice differs from the total of its preview. */
const changePlan = async ({stripe, shop, sub, step}: About, more: Stripe.SubscriptionUpdateParams) => {
  const items = [{id: planItem(sub).id, price: shop[step.plan]}]
  const details = {items, proration_behavior: step.proration as 'none'}
  const preview = await stripe.invoices.createPreview({subscription: sub.id, subscription_details: details}).catch(refused)
  const before = sub.latest_invoice
  const payment_behavior = step.behaviour as 'error_if_incomplete'
  const changed = await stripe.subscriptions.update(sub.id, {...details, ...more, payment_behavior})
  if (!preview || changed.latest_invoice === before) return
  const invoice = await stripe.invoices.retrieve(changed.latest_invoice as string)
  if (invoice.total !== preview.total) throw new Error(`A preview of ${preview.total} became ${invoice.total}`)
}

const schedule = async ({stripe, shop, sub, step}: About) => {
  const made = sub.schedule
    ? await stripe.subscriptionSchedules.retrieve(sub.schedule as string)
    : await stripe.subscriptionSchedules.create({from_subscription: sub.id})
  const running = made.phases.find(phase => phase.start_date === made.current_phase!.start_date)!
  const items = running.items.map(item => ({price: item.price as string, ...(item.quantity ? {quantity: item.quantity} : {})}))
  const interval = step.plan.endsWith('Year') ? ('year' as const) : ('month' as const)
  const next = {duration: {interval, interval_count: 1}, billing_cycle_anchor: 'phase_start' as const, proration_behavior: 'none' as const}
  const phases = [
    {items, start_date: running.start_date, end_date: running.end_date},
    {items: [{price: shop[step.plan], quantity: 1}, ...items.filter(item => !('quantity' in item))], ...next},
  ]
  return stripe.subscriptionSchedules.update(made.id, {end_behavior: 'release', phases})
}

/** Throws if an invariant is violated. The invariants hold at any time. */
const checkBooks = ({payment}: Payment) => {
  const now = payment.now()
  for (const sub of payment.all('subscription')) {
    const isOver = sub.ended_at !== null
    if (isOver !== ['canceled', 'incomplete_expired'].includes(sub.status)) throw new Error(`${sub.status}, ended at ${sub.ended_at}`)
    for (const item of sub.items.data) {
      const runs = item.current_period_start <= now && item.current_period_end > now
      if (!isOver && !runs && sub.status !== 'paused') throw new Error(`A period that does not run: ${sub.status}`)
    }
    if (sub.schedule && payment.find(sub.schedule)?.status !== 'active') throw new Error('A schedule that is over')
  }
  for (const customer of payment.all('customer')) {
    const owed = payment.all('invoice').filter(one => one.customer === customer.id && !['draft', 'void'].includes(one.status))
    const [total, due] = [sum(owed.map(one => one.total)), sum(owed.map(one => one.amount_due))]
    if (total !== due + customer.balance) throw new Error(`Credit got lost: ${total} of ${due} due and ${customer.balance}`)
  }
  for (const invoice of payment.all('invoice')) {
    const lines = sum(invoice.lines.data.map((line: {amount: number}) => line.amount))
    if (lines !== invoice.subtotal || invoice.amount_due - invoice.amount_paid !== invoice.amount_remaining)
      throw new Error('An invoice that does not add up')
  }
}

const sum = (amounts: number[]) => amounts.reduce((total, amount) => total + amount, 0)
