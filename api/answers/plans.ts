import {z} from 'zod'
import {Answer, Bytes, Count, Currency, Moment} from './common.ts'

export const PlanLimits = Answer({
  rowsPerPeriod: Count('Rows that may be written in a period'),
  rowsPerRun: Count('Rows one run may have'),
  modules: Count('Modules that may be enabled'),
  schedules: Count('Schedules that may be enabled'),
  fileBytes: Bytes('The largest file'),
  historyDays: Count('Days for which runs, rows and files are kept'),
  undoDays: Count('Days for which a run can be undone'),
  aiCredits: Count('AI credits included in a period'),
}).meta({id: 'PlanLimits'})

const planVersion = z.string().meta({description: 'The version of the plan', examples: ['free.1']})
const features = z.array(z.string()).meta({description: 'Features of the plan', examples: [['helper_libraries']]})

export const PlanStatusAnswer = Answer({
  plan: Answer({
    id: planVersion,
    key: z.string().meta({description: 'The plan, independent of its version', examples: ['free']}),
    version: z.int().positive().describe('The version, from 1'),
    name: z.string().describe('The name'),
  }).describe('The plan in force. A sandbox has the plan of its production org'),
  status: z
    .enum(['trialing', 'active', 'past_due', 'suspended'])
    .describe('`past_due`: a payment failed and the grace period runs. `suspended`: the org cannot start anything metered'),
  limits: PlanLimits,
  features,
  period: Answer({start: Moment('When the period began'), end: Moment('When it ends and the counts restart')}).describe(
    'The current period',
  ),
  trial: Answer({
    startedAt: Moment('When the trial began'),
    endsAt: Moment('When it ends or ended').nullable().describe('When it ends or ended. Null: not known'),
  })
    .nullable()
    .describe('The trial. Null: none so far'),
  pastDue: Answer({
    since: Moment('Since when a payment is overdue'),
    graceEndsAt: Moment('When the org will be suspended').nullable().describe('When the org will be suspended. Null: it already is'),
  })
    .nullable()
    .describe('Overdue payment. Null: none'),
  overageEnabled: z.boolean().describe('Whether rows beyond the plan are imported and billed'),
}).meta({id: 'Standing'})

export const TaxBehavior = z
  .enum(['inclusive', 'exclusive'])
  .nullable()
  .describe('`inclusive`: prices include tax. `exclusive`: tax is added. Null: not specified')

const amounts = Answer({
  currency: Currency,
  amounts: z.record(z.string(), z.string()).describe('By `month`, `year`, `overage` or `pack`, as decimals of the smallest unit'),
  taxBehavior: TaxBehavior.optional(),
})
  .nullable()
  .describe('Prices of the payment provider, as last verified. Null: never verified')

const paymentId = (what: string) => z.string().nullable().describe(`The payment provider's id of ${what}. Null: not on sale`)

export const PricedPlan = Answer({
  id: planVersion,
  key: z.string().describe('The plan, independent of its version'),
  version: z.int().positive().describe('The version, from 1'),
  name: z.string().describe('The name'),
  rank: z.int().describe('Rank among the plans. A higher rank is an upgrade'),
  limits: PlanLimits,
  features,
  sold: z.boolean().describe('Whether the plan is offered to orgs'),
  paymentProductId: paymentId('the product'),
  paymentPriceMonthlyId: paymentId('the price of a month'),
  paymentPriceAnnualId: paymentId('the price of a year'),
  paymentPriceOverageId: paymentId('the price of rows beyond the plan'),
  amounts,
}).meta({id: 'PricedPlan'})

export const Pack = Answer({
  key: z.string().describe('The pack'),
  name: z.string().describe('The name'),
  credits: Count('AI credits in the pack'),
  paymentProductId: paymentId('the product'),
  paymentPriceId: paymentId('the price'),
  amounts,
}).meta({id: 'Pack'})

export const Balance = Answer({
  included: z.number().describe('AI credits of the plan and grants that expire with the period'),
  purchased: z.number().describe('Purchased AI credits, spent last'),
  reserved: Count('AI credits reserved for requests in progress'),
  available: z.number().describe('AI credits neither reserved nor spent'),
  periodStart: Moment('When the period began'),
  periodEnd: Moment('When it ends'),
}).meta({id: 'CreditBalance'})

export const GrantedCredits = Answer({
  ref: z.string().describe('Idempotency key of the grant: the same `ref` is granted only once'),
  balance: Balance,
})
