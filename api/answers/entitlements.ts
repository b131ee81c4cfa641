import {z} from 'zod'
import {Answer, Count, Moment} from './common.ts'
import {Balance, PlanStatusAnswer} from './plans.ts'

const Limited = (what: string) => Answer({limit: Count(`Number of ${what} the plan allows`), used: Count('Number in use')})

const usage = {
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
}

export const Usage = Answer(usage).meta({id: 'Usage', description: 'Usage of an org in the current period'})

export const Entitlements = Answer({...PlanStatusAnswer.shape, usage: Usage, credits: Balance})

const {included, purchased, reserved, available} = Balance.shape

export const UsageAnswer = Answer({
  ...usage,
  credits: Answer({
    included,
    purchased,
    reserved,
    available,
    spent: Count('AI credits spent in this period'),
    byFeature: z
      .array(
        Answer({
          feature: z.string().meta({description: 'The AI feature', examples: ['auto_map']}),
          credits: Count('AI credits spent on the feature in this period'),
        }),
      )
      .describe('Spending by feature. Features without spending are omitted'),
  }).describe('AI credits'),
})
