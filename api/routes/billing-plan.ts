import {z} from 'zod'
import {changePlan, takeBackPending} from '../../shared/billing/plan-change.ts'
import {previewChange} from '../../shared/billing/preview.ts'
import {PlanChange, PlanPreview} from '../answers/billing.ts'
import {OfOrg} from '../params.ts'
import {ofPayment} from '../refusal-lists.ts'
import {route} from '../route.ts'

/** The specification's list of session-only routes names the plan change, not its preview or the withdrawal of a pending change. */
const access = {role: 'admin'} as const
const Wanted = {
  planKey: z
    .string()
    .max(64)
    .describe('Which plan: `GET /billing/summary` lists those that are sold; `free` ends what is paid for with its period'),
  interval: z.enum(['month', 'year']).default('month').describe('How long a period that is paid for is'),
}

const changing = ['SANDBOX_ORG', 'NOT_SUBSCRIBED', 'CHANGE_IN_PROGRESS', 'CHANGE_UNCONFIRMED', ...ofPayment] as const
const choosing = [...changing, 'NOT_SOLD', 'NO_CHANGE', 'STATUS_PAST_DUE', 'STATUS_SUSPENDED'] as const

const change = {
  ...{change: 'now', planKey: 'pro', interval: 'month', effectiveAt: '2026-03-15T09:00:00.000Z', replaces: null},
  due: {amount: 2_550, currency: 'eur'},
  tax: {amount: 407, currency: 'eur'},
  next: {amount: 9_900, currency: 'eur', at: '2026-04-01T00:00:00.000Z'},
}
const line = {
  description: 'Remaining time on Pro',
  amount: 2_550,
  tax: 407,
  taxIncluded: true,
  startsAt: '2026-03-15T09:00:00.000Z',
  endsAt: '2026-04-01T00:00:00.000Z',
}
const previewToken = 'eyJhbGciOiJIUzI1NiJ9.eyJraW5kIjoibm93In0.c2lnbmF0dXJl'

export default [
  route({
    method: 'post',
    path: '/orgs/:org/billing/plan',
    access: {...access, sessionOnly: true},
    effect: 'money',
    summary: 'Change the plan that is paid for',
    description: `More is charged and in force at once, or nothing has changed. Less waits for the end of the period. Of a plan that is under way the same request
finishes what was begun. Where the bank wants a payment confirmed, the refusal \`CARD_DECLINED\` carries \`confirmation\` with the page (\`url\`) and its end
(\`expiresAt\`): the plan changes once the payment is confirmed there. Until then the old plan stays, and another request closes the page.`,
    answers: {200: PlanChange},
    refusals: [...choosing, 'PREVIEW_STALE', 'CARD_DECLINED', 'CHANGE_INCOMPLETE'],
    example: {body: {planKey: 'pro', interval: 'month', previewToken}, answer: change},
    params: OfOrg,
    body: z.strictObject({
      ...Wanted,
      previewToken: z.string().max(4096).optional().describe('What a preview answered: the change is exactly what that showed, or refused'),
    }),
    handle: ({caller: {org, person}, body, ...tools}) => changePlan(tools, {org, person, ...body}),
  }),

  route({
    method: 'post',
    path: '/orgs/:org/billing/plan/preview',
    access,
    effect: 'money',
    summary: 'Show what a change of the plan would be and cost',
    description: 'As the payment provider works it out; nothing is changed. The token holds the change to it for half an hour.',
    answers: {200: PlanPreview},
    refusals: choosing,
    example: {
      body: {planKey: 'pro', interval: 'month'},
      answer: {...change, lines: [{...line, proration: true}], previewToken, expiresAt: '2026-03-15T09:30:00.000Z'},
    },
    params: OfOrg,
    body: z.strictObject(Wanted),
    handle: ({caller: {org, person}, body, ...tools}) => previewChange(tools, {org, person, ...body}),
  }),

  route({
    method: 'delete',
    path: '/orgs/:org/billing/plan/pending',
    access,
    effect: 'money',
    summary: 'Take back the change of the plan that waits',
    description: 'The plan goes on as it is. Where nothing waits that is so already.',
    answers: {200: PlanChange},
    refusals: [...changing, 'CHANGE_INCOMPLETE'],
    example: {answer: {...change, planKey: 'starter', due: {amount: 0, currency: 'eur'}, tax: {amount: 0, currency: 'eur'}}},
    params: OfOrg,
    handle: ({caller: {org, person}, ...tools}) => takeBackPending(tools, {org, person}),
  }),
]
