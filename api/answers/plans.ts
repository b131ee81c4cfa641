import {z} from 'zod'
import {Answer, Bytes, Count, Currency, Moment} from './common.ts'

export const PlanLimits = Answer({
  rowsPerPeriod: Count('Rows that may be written in a period'),
  rowsPerRun: Count('Rows one run may have'),
  modules: Count('Modules that may be enabled'),
  schedules: Count('Schedules that may be enabled'),
  fileBytes: Bytes('The largest file'),
  historyDays: Count('Days for which runs, rows and files are kept'),
  aiCredits: Count('AI credits included in a period'),
}).meta({id: 'PlanLimits'})

const planVersion = z.string().meta({description: 'The version of the plan', examples: ['free.1']})
const features = z.array(z.string()).meta({description: 'What the plan has beside its limits', examples: [['helper_libraries']]})

export const Standing = Answer({
  plan: Answer({
    id: planVersion,
    key: z.string().meta({description: 'The plan, whatever its version', examples: ['free']}),
    version: z.int().positive().describe('Its version, counted from 1'),
    name: z.string().describe('What it is called'),
  }).describe('The plan in force: of a sandbox, that of its production org'),
  status: z
    .enum(['trialing', 'active', 'past_due', 'suspended'])
    .describe('`past_due`: a payment failed and the grace runs. `suspended`: nothing metered begins'),
  limits: PlanLimits,
  features,
  period: Answer({start: Moment('When the period began'), end: Moment('When it ends and counts begin anew')}).describe('The period now'),
  trial: Answer({
    startedAt: Moment('When the trial began'),
    endsAt: Moment('When it ends or ended').nullable().describe('When it ends or ended; null: not known'),
  })
    .nullable()
    .describe('Null: there never was one'),
  pastDue: Answer({
    since: Moment('Since when a payment is missing'),
    graceEndsAt: Moment('When the org is suspended for it').nullable().describe('When the org is suspended for it; null: it is already'),
  })
    .nullable()
    .describe('Null: nothing is owed'),
  overageEnabled: z.boolean().describe('Whether rows beyond the plan are let through and billed'),
}).meta({id: 'Standing'})

export const TaxBehavior = z
  .enum(['inclusive', 'exclusive'])
  .nullable()
  .describe('`inclusive`: prices contain the tax. `exclusive`: tax comes on top. null: the prices do not say')

const amounts = Answer({
  currency: Currency,
  amounts: z.record(z.string(), z.string()).describe('By `month`, `year`, `overage` or `pack`, as decimals of the smallest unit'),
  taxBehavior: TaxBehavior.optional(),
})
  .nullable()
  .describe('What the payment provider charges, as last verified; null: never verified')

const paymentId = (what: string) => z.string().nullable().describe(`The payment provider's id of ${what}; null: it is not sold`)

export const PricedPlan = Answer({
  id: planVersion,
  key: z.string().describe('The plan, whatever its version'),
  version: z.int().positive().describe('Its version, counted from 1'),
  name: z.string().describe('What it is called'),
  rank: z.int().describe('Where it stands among the others: a higher one is an upgrade'),
  limits: PlanLimits,
  features,
  sold: z.boolean().describe('Whether orgs are offered it'),
  paymentProductId: paymentId('the product'),
  paymentPriceMonthlyId: paymentId('the price of a month'),
  paymentPriceAnnualId: paymentId('the price of a year'),
  paymentPriceOverageId: paymentId('the price of rows beyond the plan'),
  amounts,
}).meta({id: 'PricedPlan'})

export const Pack = Answer({
  key: z.string().describe('The pack'),
  name: z.string().describe('What it is called'),
  credits: Count('AI credits in it'),
  paymentProductId: paymentId('the product'),
  paymentPriceId: paymentId('the price'),
  amounts,
}).meta({id: 'Pack'})

export const Balance = Answer({
  included: z.int().describe('AI credits of the plan and of gifts that end with the period'),
  purchased: z.int().describe('AI credits that were bought, which are spent last'),
  reserved: Count('AI credits held for what is under way'),
  available: z.int().describe('What is neither reserved nor spent'),
  periodStart: Moment('When the period began'),
  periodEnd: Moment('When it ends'),
}).meta({id: 'CreditBalance'})

export const GrantedCredits = Answer({
  ref: z.string().describe('What the gift is known by: the same `ref` gives nothing twice'),
  balance: Balance,
})
