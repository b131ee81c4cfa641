import {z} from 'zod'
import {Answer, Count, Moment} from './common.ts'
import {Balance, Standing} from './plans.ts'

const Limited = (what: string) => Answer({limit: Count(`How many ${what} the plan has room for`), used: Count('How many there are')})

const usage = {
  periodStart: Moment('When the period began'),
  periodEnd: Moment('When it ends, and rows and credits count anew'),
  rows: Answer({
    limit: Count('Rows of the plan in this period; between the two where the plan was raised in it'),
    used: Count('Rows written, those beyond the plan among them'),
    reserved: Count('Rows held for runs under way, and for those that were authorised and not begun'),
    remaining: Count('Rows a run could still be authorised for'),
    overage: Count('Rows beyond the plan, which are billed one by one'),
  }).describe('Rows of the period'),
  modules: Limited('modules').describe('Modules that are enabled'),
  schedules: Limited('schedules').describe('Schedules that are enabled'),
}

export const Usage = Answer(usage).meta({id: 'Usage', description: 'What an org has used in the period that is now'})

export const Entitlements = Answer({...Standing.shape, usage: Usage, credits: Balance})

const {included, purchased, reserved, available} = Balance.shape

export const UsageAnswer = Answer({
  ...usage,
  credits: Answer({
    ...{included, purchased, reserved, available},
    spent: Count('AI credits spent in this period'),
    byFeature: z
      .array(
        Answer({
          feature: z.string().meta({description: 'What they were spent on', examples: ['auto_map']}),
          credits: Count('AI credits spent on it in this period'),
        }),
      )
      .describe('Spent on what; features that cost nothing are left out'),
  }).describe('AI credits'),
})
