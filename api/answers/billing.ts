import {z} from 'zod'
import {Amount, Answer, Count, Currency, Id, Moment} from './common.ts'
import {Usage} from './entitlements.ts'
import {Balance, PlanLimits, Standing, TaxBehavior} from './plans.ts'

const Interval = z.enum(['month', 'year'])
const Url = (what: string) => z.url().describe(what)

export const CheckoutAnswer = Answer({
  kind: z.literal('checkout').describe('A page to pay at'),
  url: Url("The page of the payment provider's. Nothing is bought until it has been paid there"),
})

export const PortalAnswer = Answer({
  url: Url("The page of the payment provider's for cards, invoices and cancelling. It is good for a few minutes"),
})

const Money = (what: string) => Answer({amount: Amount('How much'), currency: Currency}).describe(what)

export const PendingChange = Answer({
  planKey: z.string().describe('The plan; `free` where it ends'),
  planVersionId: z.string().nullable().describe('The version of it; null where it ends'),
  interval: Interval.nullable().describe('How long its periods are; null where it ends'),
  at: Moment('From when'),
}).meta({id: 'PendingChange', description: 'What a paid plan becomes at the end of its period'})

const change = {
  change: z
    .enum(['now', 'at_renewal', 'cancel'])
    .describe('`now`: in force at once, also the taking back of what waited. `at_renewal`, `cancel`: with the end of the period'),
  planKey: z.string().describe('The plan it goes to; `free` where it ends'),
  interval: Interval.nullable().describe('How long its periods are; null where it ends'),
  effectiveAt: Moment('From when it holds'),
  replaces: PendingChange.nullable().describe('What waited and waits no more; null: nothing did'),
  due: Money('What is charged for it now, after discounts and with tax'),
  tax: Money('What of `due` is tax; 0 where no tax is collected'),
  next: Answer({amount: Amount('How much'), currency: Currency, at: Moment('When')})
    .nullable()
    .describe('What is charged next, before discounts and tax; null: it ends, or it is not known'),
}

export const PlanChange = Answer(change).meta({id: 'PlanChange', description: 'What a change of the plan comes to'})

export const PlanPreview = Answer({
  ...change,
  lines: z
    .array(
      Answer({
        description: z.string().nullable().describe("The payment provider's words for it; null: it has none"),
        amount: Amount('How much; below zero for what is given back'),
        tax: Amount('The tax on it'),
        taxIncluded: z.boolean().describe('Whether `amount` contains `tax`; else `tax` comes on top'),
        startsAt: Moment('From when it is for'),
        endsAt: Moment('Until when'),
        proration: z.boolean().describe('Whether it is for a part of a period'),
      }),
    )
    .describe('What `due` is made of; empty where nothing is charged now'),
  previewToken: z.string().describe('Send it with the change to have exactly this, or PREVIEW_STALE'),
  expiresAt: Moment('Until when the token is good: half an hour'),
}).meta({id: 'PlanPreview', description: 'What a change of the plan would be and cost'})

const {plan, status, period, trial, pastDue, features} = Standing.shape

const SoldPlan = Answer({
  id: z.string().meta({description: 'The version of the plan', examples: ['plan_starter_1']}),
  key: z.string().describe('The plan, whatever its version'),
  version: z.int().positive().describe('Its version, counted from 1'),
  name: z.string().describe('What it is called'),
  limits: PlanLimits,
  features,
  intervals: z.array(Interval).describe('How it can be paid for; empty: not at all here'),
  prices: Answer({
    currency: Currency,
    month: Amount('What a month costs').nullable().describe('What a month costs, in the smallest unit; null: it is not sold by the month'),
    year: Amount('What a year costs').nullable().describe('What a year costs, in the smallest unit; null: it is not sold by the year'),
    row: z.string().nullable().describe('What one row beyond the plan costs, as a decimal of the smallest unit; null: none are sold'),
    taxBehavior: TaxBehavior,
  })
    .nullable()
    .describe('What it costs, before discounts; null: not known here'),
})

const SoldPack = Answer({
  key: z.string().describe('The pack'),
  name: z.string().describe('What it is called'),
  credits: Count('AI credits in it'),
  purchasable: z.boolean().describe('Whether it can be bought here'),
  price: Answer({amount: Amount('What it costs'), currency: Currency, taxBehavior: TaxBehavior})
    .nullable()
    .describe('What it costs; null: not known here'),
})

export const Topup = Answer({
  enabled: z.boolean().describe('Whether credits are bought by themselves'),
  packKey: z.string().nullable().describe('The pack that is bought; null: nobody has said'),
  threshold: z.int().nullable().describe('Fewer AI credits than these, and more are bought; null: nobody has said'),
  monthlyCap: z.int().nullable().describe('At most so many AI credits are bought in a month; null: nobody has said'),
  month: Answer({
    month: z.string().meta({description: 'The calendar month in UTC', examples: ['2026-03']}),
    used: Count('AI credits bought in it, or being bought'),
    remaining: z.int().nonnegative().nullable().describe('AI credits that may still be; null: there is no cap'),
  }).describe('The month that is now'),
  stopped: Answer({
    reason: z
      .enum(['card_declined', 'authentication_required', 'customer_gone', 'no_card', 'pack_not_sold', 'refused'])
      .describe('Why, for programs'),
    message: z.string().describe('Why, and what to do, for a person'),
  })
    .nullable()
    .describe('Why it was switched off though nobody did; null: it was not'),
  underWay: Answer({
    credits: Count('AI credits'),
    packKey: z.string().describe('The pack'),
    state: z.enum(['pending', 'unknown']).describe('`unknown`: the card was asked for it, and the outcome is not known yet'),
  })
    .nullable()
    .describe('What is being bought at this moment; null: nothing'),
}).meta({id: 'Topup', description: 'When AI credits are bought by themselves'})

const Notice = Answer({
  id: Id('ntc', 'The notice'),
  kind: z.string().meta({description: 'What happened', examples: ['billing.plan_changed']}),
  about: z.record(z.string(), z.unknown()).describe('More of it, by the kind'),
  at: Moment('When'),
})

const subscription = Answer({
  status: z.string().meta({description: "The payment provider's word for how it stands", examples: ['active']}),
  planVersionId: z.string().nullable().describe('The version of the plan it pays for; null: none that is known here'),
  readAt: Moment('When it was last read from the payment provider'),
  period: Answer({
    start: Moment('When the paid period began').nullable().describe('When the paid period began; null: none has'),
    end: Moment('When it ends').nullable().describe('When it ends; null: none has begun'),
  }).describe('The period that is paid for'),
  trialEndsAt: Moment('When its own trial ends').nullable().describe('When its own trial ends; null: it has none'),
})

export const BillingSummary = Answer({
  ...{plan, status, period, trial, pastDue},
  interval: Interval.nullable().describe('How long the periods that are paid for are; null: nothing is paid for'),
  cancelsAt: Moment('When what is paid for ends').nullable().describe('When what is paid for ends; null: it goes on'),
  pendingChange: PendingChange.nullable().describe('What the plan becomes with the end of the period; null: it stays'),
  subscription: subscription.nullable().describe('As the payment provider said when it was last read; null: there is none'),
  balance: Balance,
  usage: Usage,
  autotopup: Topup,
  overage: Answer({
    enabled: z.boolean().describe('Whether rows beyond the plan are let through and billed'),
    available: z.boolean().describe('Whether the plan has a price for them'),
  }).describe('Rows beyond the plan'),
  plans: z.array(SoldPlan).describe('Plans that are sold, the lowest first'),
  packs: z.array(SoldPack).describe('Packs of AI credits, the smallest first'),
  notices: z.array(Notice).describe('What was told about billing and usage in the last 30 days, the newest first: 50 at most'),
  customer: z.boolean().describe('Whether the org has bought anything yet, so that there is a portal for it'),
  checkoutOpen: z.boolean().describe('Whether a page to pay for a plan is open'),
  configured: z.boolean().describe('Whether this deployment sells anything'),
})

export const Overage = Answer({overageEnabled: z.boolean().describe('Whether rows beyond the plan are let through and billed')})

export const Received = Answer({received: z.literal(true).describe('It is kept, and applied by a worker')})

const PaymentEvent = Answer({
  id: z.string().describe("The payment provider's id of it"),
  type: z.string().meta({description: "The payment provider's word for what happened", examples: ['invoice.paid']}),
  status: z
    .enum(['received', 'processing', 'processed', 'ignored', 'deferred', 'failed'])
    .describe('`ignored`: nothing follows from it here. `deferred`: something else about the org comes first. `failed`: it is tried again'),
  orgId: Id('org', 'Whose it is').nullable().describe("Whose it is; null: nobody's of this deployment, or not known yet"),
  error: z.string().nullable().describe('Why it was ignored or failed; null: nothing went wrong'),
  createdAt: Moment('When it came'),
  processedAt: Moment('When it was done with').nullable().describe('When it was done with; null: it is not'),
})

export const PaymentEvents = Answer({
  events: z.array(PaymentEvent).describe('The newest first'),
  nextCursor: z.string().nullable().describe('The `cursor` of the next page; null: this is the last one'),
})

export const RetriedEvent = Answer({event: PaymentEvent.describe('As it is now')})
