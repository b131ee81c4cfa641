import {z} from 'zod'
import {Status} from '../../sql/plans.ts'
import {Answer, Bytes, Count, Moment} from './common.ts'

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

export const planVersion = z.string().meta({description: 'The version of the plan', examples: ['free.1']})
export const features = z.array(z.string()).meta({description: 'Features of the plan', examples: [['helper_libraries']]})

export const PlanStatusAnswer = Answer({
  plan: Answer({
    id: planVersion,
    key: z.string().meta({description: 'The plan, independent of its version', examples: ['free']}),
    version: z.int().positive().describe('The version, from 1'),
    name: z.string().describe('The name'),
  }).describe('The plan in force. A sandbox has the plan of its production org'),
  status: Status.describe('`past_due`: a payment failed and the grace period runs. `suspended`: the org cannot start anything metered'),
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
    since: Moment('Since when a payment is overdue')
      .nullable()
      .describe('Since when a payment is overdue. Null: not known, because the org is suspended'),
    graceEndsAt: Moment('When the grace period ends')
      .nullable()
      .describe('When the grace period ends, after which nothing metered can start. Null: it is over'),
  })
    .nullable()
    .describe('Overdue payment. Null: none'),
  overageEnabled: z.boolean().describe('Whether rows beyond the plan are imported and billed'),
}).meta({id: 'Standing'})

export const TaxBehavior = z
  .enum(['inclusive', 'exclusive'])
  .nullable()
  .describe('`inclusive`: prices include tax. `exclusive`: tax is added. Null: not specified')

export const Balance = Answer({
  included: z.number().describe('AI credits of the plan and grants that expire with the period'),
  purchased: z.number().describe('Purchased AI credits, spent last'),
  reserved: Count('AI credits reserved for requests in progress'),
  available: z.number().describe('AI credits neither reserved nor spent'),
  periodStart: Moment('When the period began'),
  periodEnd: Moment('When it ends'),
}).meta({id: 'CreditBalance'})

const Limited = (what: string) => Answer({limit: Count(`Number of ${what} the plan allows`), used: Count('Number in use')})

export const Usage = Answer({
  periodStart: Moment('When the period began'),
  periodEnd: Moment('When the period ends, and the counts of rows and credits restart'),
  rows: Answer({
    limit: Count('Rows of the plan in this period. Prorated if the plan was upgraded in this period'),
    used: Count('Rows written, overage included'),
    reserved: Count('Rows reserved for active runs and unused authorisations'),
    remaining: Count('Rows left for new runs'),
    overage: Count('Rows beyond the plan, billed per row'),
  }).describe('Rows of the period'),
  modules: Limited('modules').describe('Enabled modules'),
  schedules: Limited('schedules').describe('Enabled schedules'),
}).meta({id: 'Usage', description: 'Usage of an org in the current period'})
