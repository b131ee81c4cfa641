import {z} from 'zod'
import {Amount, Answer, Count, Currency, Id, Moment} from './common.ts'
import {Usage} from './entitlements.ts'
import {Balance, PlanLimits, PlanStatusAnswer, TaxBehavior} from './plans.ts'

const Interval = z.enum(['month', 'year'])
const Url = (what: string) => z.url().describe(what)

export const CheckoutAnswer = Answer({
  kind: z.literal('checkout').describe('A checkout page'),
  url: Url('The page of the payment provider. Nothing is bought until payment there'),
})

export const PortalAnswer = Answer({
  url: Url('The portal of the payment provider for cards, invoices and cancelling. Valid for a few minutes'),
})

const Money = (what: string) => Answer({amount: Amount('The amount'), currency: Currency}).describe(what)

export const PendingChange = Answer({
  planKey: z.string().describe('The plan. `free` if the paid plan ends'),
  planVersionId: z.string().nullable().describe('The version of the plan. Null if the paid plan ends'),
  interval: Interval.nullable().describe('The billing period. Null if the paid plan ends'),
  at: Moment('When it takes effect'),
}).meta({id: 'PendingChange', description: 'A plan change scheduled for the end of the period'})

const change = {
  change: z
    .enum(['now', 'at_renewal', 'cancel'])
    .describe(
      '`now`: takes effect at once; also used when a pending change is cancelled. `at_renewal`, `cancel`: takes effect at the end of the period',
    ),
  planKey: z.string().describe('The new plan. `free` if the paid plan ends'),
  interval: Interval.nullable().describe('The billing period. Null if the paid plan ends'),
  effectiveAt: Moment('When it takes effect'),
  replaces: PendingChange.nullable().describe('The pending change that this one replaces. Null: none'),
  due: Money('Charged now, after discounts, tax included'),
  tax: Money('Tax within `due`. 0 if no tax is collected'),
  next: Answer({amount: Amount('The amount'), currency: Currency, at: Moment('When it is charged')})
    .nullable()
    .describe('The next charge, before discounts and tax. Null: the plan ends, or the charge is not known'),
}

export const PlanChange = Answer(change).meta({id: 'PlanChange', description: 'The result of a plan change'})

export const PlanPreview = Answer({
  ...change,
  lines: z
    .array(
      Answer({
        description: z.string().nullable().describe('Description by the payment provider. Null: none'),
        amount: Amount('The amount; negative for a refund'),
        tax: Amount('The tax'),
        taxIncluded: z.boolean().describe('Whether `amount` includes `tax`. If not, `tax` is added'),
        startsAt: Moment('Start of the time it covers'),
        endsAt: Moment('End of the time it covers'),
        proration: z.boolean().describe('Whether it covers part of a period'),
      }),
    )
    .describe('The lines of `due`. Empty if nothing is charged now'),
  previewToken: z.string().describe('Send it with the change to get exactly this result, or else PREVIEW_STALE'),
  expiresAt: Moment('When the token expires, after 30 minutes'),
}).meta({id: 'PlanPreview', description: 'A plan change and its cost'})

const {plan, status, period, trial, pastDue, features} = PlanStatusAnswer.shape

const SoldPlan = Answer({
  id: z.string().meta({description: 'The version of the plan', examples: ['plan_starter_1']}),
  key: z.string().describe('The plan, independent of its version'),
  version: z.int().positive().describe('The version, from 1'),
  name: z.string().describe('The name'),
  limits: PlanLimits,
  features,
  intervals: z.array(Interval).describe('Billing periods on sale. Empty: not on sale here'),
  prices: Answer({
    currency: Currency,
    month: Amount('Price per month').nullable().describe('Price per month, in the smallest unit. Null: not sold by the month'),
    year: Amount('Price per year').nullable().describe('Price per year, in the smallest unit. Null: not sold by the year'),
    row: z.string().nullable().describe('Price per row beyond the plan, as a decimal of the smallest unit. Null: no overage'),
    taxBehavior: TaxBehavior,
  })
    .nullable()
    .describe('Prices before discounts. Null: not known'),
})

const SoldPack = Answer({
  key: z.string().describe('The pack'),
  name: z.string().describe('The name'),
  credits: Count('AI credits in the pack'),
  purchasable: z.boolean().describe('Whether the pack is on sale here'),
  price: Answer({amount: Amount('The price'), currency: Currency, taxBehavior: TaxBehavior})
    .nullable()
    .describe('The price. Null: not known'),
})

export const Topup = Answer({
  enabled: z.boolean().describe('Whether automatic top-up is on'),
  packKey: z.string().nullable().describe('The pack to buy. Null: not set'),
  threshold: z.int().nullable().describe('A pack is bought when the balance falls below this. Null: not set'),
  monthlyCap: z.int().nullable().describe('The most AI credits to buy in a month. Null: not set'),
  month: Answer({
    month: z.string().meta({description: 'The calendar month in UTC', examples: ['2026-03']}),
    used: Count('AI credits bought this month, pending ones included'),
    remaining: z.int().nonnegative().nullable().describe('AI credits that may still be bought. Null: no cap'),
  }).describe('The current month'),
  stopped: Answer({
    reason: z
      .enum(['card_declined', 'authentication_required', 'customer_gone', 'no_card', 'pack_not_sold', 'refused'])
      .describe('The reason, for programs'),
    message: z.string().describe('The reason and what to do, for people'),
  })
    .nullable()
    .describe('Why the service switched it off. Null: it did not'),
  underWay: Answer({
    credits: Count('AI credits'),
    packKey: z.string().describe('The pack'),
    state: z.enum(['pending', 'unknown']).describe('`unknown`: the card was charged, and the result is not known yet'),
  })
    .nullable()
    .describe('The purchase in progress. Null: none'),
}).meta({id: 'Topup', description: 'The automatic top-up of AI credits'})

const Notice = Answer({
  id: Id('ntc', 'The notice'),
  kind: z.string().meta({description: 'What happened', examples: ['billing.plan_changed']}),
  about: z.record(z.string(), z.unknown()).describe('Details, depending on the kind'),
  at: Moment('When it happened'),
})

const subscription = Answer({
  status: z.string().meta({description: "The payment provider's status", examples: ['active']}),
  planVersionId: z.string().nullable().describe('The version of the plan it pays for. Null: not a known plan'),
  readAt: Moment('When it was last read from the payment provider'),
  period: Answer({
    start: Moment('When the paid period began').nullable().describe('When the paid period began. Null: none has'),
    end: Moment('When it ends').nullable().describe('When the paid period ends. Null: none has begun'),
  }).describe('The paid period'),
  trialEndsAt: Moment('When its own trial ends').nullable().describe('When its own trial ends. Null: it has none'),
})

export const BillingSummary = Answer({
  plan,
  status,
  period,
  trial,
  pastDue,
  interval: Interval.nullable().describe('The billing period. Null: no subscription'),
  cancelsAt: Moment('When the subscription ends').nullable().describe('When the subscription ends. Null: it renews'),
  pendingChange: PendingChange.nullable().describe('The change at the end of the period. Null: none'),
  subscription: subscription.nullable().describe('The subscription as last read from the payment provider. Null: none'),
  balance: Balance,
  usage: Usage,
  autotopup: Topup,
  overage: Answer({
    enabled: z.boolean().describe('Whether rows beyond the plan are imported and billed'),
    available: z.boolean().describe('Whether the plan has a price for overage'),
  }).describe('Rows beyond the plan'),
  plans: z.array(SoldPlan).describe('Plans on sale, lowest first'),
  packs: z.array(SoldPack).describe('Packs of AI credits, smallest first'),
  notices: z.array(Notice).describe('Notices about billing and usage in the last 30 days, newest first; at most 50'),
  customer: z.boolean().describe('Whether the org is a customer of the payment provider, so that it has a portal'),
  checkoutOpen: z.boolean().describe('Whether a checkout page for a plan is open'),
  configured: z.boolean().describe('Whether this deployment sells anything'),
})

export const Overage = Answer({overageEnabled: z.boolean().describe('Whether rows beyond the plan are imported and billed')})

export const Received = Answer({received: z.literal(true).describe('The event is stored, and a worker will apply it')})

const PaymentEvent = Answer({
  id: z.string().describe("The payment provider's id of the event"),
  type: z.string().meta({description: "The payment provider's event type", examples: ['invoice.paid']}),
  status: z
    .enum(['received', 'processing', 'processed', 'ignored', 'deferred', 'failed'])
    .describe('`ignored`: no effect here. `deferred`: waits for another change of the org. `failed`: will be retried'),
  orgId: Id('org', 'The org').nullable().describe('The org it concerns. Null: no org of this deployment, or not known yet'),
  error: z.string().nullable().describe('Why it was ignored or failed. Null: no error'),
  createdAt: Moment('When it was received'),
  processedAt: Moment('When it was processed').nullable().describe('When it was processed. Null: not yet'),
})

export const PaymentEvents = Answer({
  events: z.array(PaymentEvent).describe('Newest first'),
  nextCursor: z.string().nullable().describe('The `cursor` of the next page. Null: this is the last page'),
})

export const RetriedEvent = Answer({event: PaymentEvent.describe('The event in its current state')})
