import {z} from 'zod'
import {readSummary} from '../../shared/billing/summary.ts'
import {Interval, PendingChange, Topup} from '../answers/billing.ts'
import {Amount, Answer, Count, Currency, Id, Moment} from '../answers/common.ts'
import {Balance, PlanLimits, PlanStatusAnswer, TaxBehavior, Usage} from '../answers/plans.ts'
import {route} from '../route.ts'

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

const Notice = Answer({
  id: Id('ntc', 'The notice'),
  kind: z.string().meta({description: 'What happened', examples: ['billing.plan_changed']}),
  about: z.record(z.string(), z.unknown()).describe('Details, depending on the kind'),
  at: Moment('When it happened'),
})

const subscription = Answer({
  status: z.string().meta({description: "The payment provider's status", examples: ['active']}),
  planVersionId: z.string().nullable().describe('The version of the plan it pays for. Null: not a known plan'),
  plan: SoldPlan.nullable().describe(
    'The version it pays for, with the prices that it pays. The version may not be on sale any more. Null: not a known plan',
  ),
  readAt: Moment('When it was last read from the payment provider'),
  period: Answer({
    start: Moment('When the paid period began').nullable().describe('When the paid period began. Null: none has'),
    end: Moment('When it ends').nullable().describe('When the paid period ends. Null: none has begun'),
  }).describe('The paid period'),
  trialEndsAt: Moment('When its own trial ends').nullable().describe('When its own trial ends. Null: it has none'),
})

const BillingSummary = Answer({
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
    available: z.boolean().describe('Whether the plan or the subscription has a price for overage'),
  }).describe('Rows beyond the plan'),
  plans: z.array(SoldPlan).describe('Plans on sale, lowest first'),
  packs: z.array(SoldPack).describe('Packs of AI credits, smallest first'),
  notices: z.array(Notice).describe('Notices about billing and usage in the last 30 days, newest first; at most 50'),
  customer: z.boolean().describe('Whether the org is a customer of the payment provider, so that it has a portal'),
  checkoutOpen: z.boolean().describe('Whether a checkout page for a plan is open'),
  configured: z.boolean().describe('Whether this deployment sells anything'),
  sandbox: z.boolean().describe('Whether the org is a sandbox, whose billing its production org manages'),
})

export default [
  route({
    method: 'get',
    path: '/billing/summary',
    operationId: 'readBilling',
    tag: 'Billing',
    access: {role: 'operator'},
    summary: 'Read the billing summary',
    description:
      'Plan, AI credits, usage, plans and packs on sale, and recent billing notices. Read from the database, without a call to the payment provider.',
    answers: {200: BillingSummary},
    refusals: [],
    handle: ({db, payment, caller: {org}}) => readSummary({db, payment}, org),
  }),
]
