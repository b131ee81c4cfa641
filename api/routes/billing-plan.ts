import {z} from 'zod'
import {cancelPending, changePlan} from '../../shared/billing/plan-change.ts'
import {previewChange} from '../../shared/billing/preview.ts'
import {Interval, PendingChange} from '../answers/billing.ts'
import {Amount, Answer, Currency, Moment} from '../answers/common.ts'
import {OfOrg} from '../params.ts'
import {ofPayment} from '../refusal-lists.ts'
import {route} from '../route.ts'

const Money = (what: string) => Answer({amount: Amount('The amount'), currency: Currency}).describe(what)

const changeFields = {
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

const PlanChange = Answer(changeFields).meta({id: 'PlanChange', description: 'The result of a plan change'})

const PlanPreview = Answer({
  ...changeFields,
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

/** Only the plan change also requires a session. The preview and the withdrawal of a pending change do not. */
const access = {role: 'admin'} as const
const Wanted = {
  planKey: z
    .string()
    .max(64)
    .describe('The plan. `GET /billing/summary` lists the plans on sale; `free` cancels the paid plan at the end of its period'),
  interval: z.enum(['month', 'year']).default('month').describe('The billing period'),
}

const changing = ['SANDBOX_ORG', 'NOT_SUBSCRIBED', 'CHANGE_IN_PROGRESS', 'CHANGE_UNCONFIRMED', ...ofPayment] as const
const choosing = [...changing, 'NOT_SOLD', 'NO_CHANGE', 'STATUS_PAST_DUE', 'STATUS_SUSPENDED'] as const

const change = {
  change: 'now',
  planKey: 'pro',
  interval: 'month',
  effectiveAt: '2026-03-15T09:00:00.000Z',
  replaces: null,
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
    operationId: 'changePlan',
    tag: 'Billing',
    access: {...access, sessionOnly: true},
    effect: 'money',
    summary: 'Change the plan',
    description: `An upgrade is charged and takes effect at once; if the charge fails, nothing changes. A downgrade takes effect at the end of the period. If a change was
interrupted, the same request finishes it. If the bank requires confirmation, the refusal \`CARD_DECLINED\` carries \`confirmation\` with the page (\`url\`)
and its expiry (\`expiresAt\`). The plan changes once the payment is confirmed there. Until then the old plan stays, and a new request closes the page.`,
    answers: {200: PlanChange},
    refusals: [...choosing, 'PREVIEW_STALE', 'CARD_DECLINED', 'CHANGE_INCOMPLETE'],
    example: {body: {planKey: 'pro', interval: 'month', previewToken}, answer: change},
    params: OfOrg,
    body: z.strictObject({
      ...Wanted,
      previewToken: z
        .string()
        .max(4096)
        .optional()
        .describe('The token of a preview. The change is refused unless it matches the preview exactly'),
    }),
    handle: ({caller: {org, person}, body, ...tools}) => changePlan(tools, {org, person, ...body}),
  }),

  route({
    method: 'post',
    path: '/orgs/:org/billing/plan/preview',
    operationId: 'previewPlanChange',
    tag: 'Billing',
    access,
    effect: 'money',
    summary: 'Preview a plan change and its cost',
    description: 'Computed by the payment provider; changes nothing. The token fixes the previewed price for 30 minutes.',
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
    operationId: 'undoPendingPlanChange',
    tag: 'Billing',
    access,
    effect: 'money',
    summary: 'Cancel the pending plan change',
    description: 'Keeps the current plan. Does nothing if no change is pending.',
    answers: {200: PlanChange},
    refusals: [...changing, 'CHANGE_INCOMPLETE'],
    example: {answer: {...change, planKey: 'starter', due: {amount: 0, currency: 'eur'}, tax: {amount: 0, currency: 'eur'}}},
    params: OfOrg,
    handle: ({caller, ...tools}) => cancelPending(tools, caller),
  }),
]
