import {z} from 'zod'
import {Answer, Count, Moment} from './common.ts'

export const Interval = z.enum(['month', 'year'])

export const PendingChange = Answer({
  planKey: z.string().describe('The plan. `free` if the paid plan ends'),
  planVersionId: z.string().nullable().describe('The version of the plan. Null if the paid plan ends'),
  interval: Interval.nullable().describe('The billing period. Null if the paid plan ends'),
  at: Moment('When it takes effect'),
}).meta({id: 'PendingChange', description: 'A plan change scheduled for the end of the period'})

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
