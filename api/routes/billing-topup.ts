import {z} from 'zod'
import {switchOverage} from '../../shared/billing/overage-switch.ts'
import {describeTopup, keepTopup, TopupBody} from '../../shared/billing/topup-settings.ts'
import {Overage, Topup} from '../answers/billing.ts'
import {ofPayment} from '../refusal-lists.ts'
import {route} from '../route.ts'

const topup = {
  ...{enabled: true, packKey: 'credits_500', threshold: 100, monthlyCap: 2_000},
  ...{month: {month: '2026-03', used: 500, remaining: 1_500}, stopped: null, underWay: null},
}

/** What an org lets us charge without being asked each time. */
export default [
  route({
    method: 'get',
    path: '/billing/autotopup',
    access: {role: 'admin'},
    summary: 'Read when AI credits are bought by themselves',
    answers: {200: Topup},
    refusals: [],
    example: {answer: topup},
    handle: ({db, caller: {org}}) => describeTopup(db, org),
  }),

  route({
    method: 'post',
    path: '/billing/autotopup',
    access: {role: 'admin'},
    effect: 'money',
    summary: 'Say when AI credits are bought by themselves',
    description:
      'What is disabled charges nothing from here on; what the org lacks by the new settings is bought at once. What is left out stays as it is.',
    answers: {200: Topup},
    refusals: ['SANDBOX_ORG', 'NOT_SOLD', 'NO_PAYMENT_CUSTOMER', ...ofPayment],
    example: {body: {enabled: true, packKey: 'credits_500', threshold: 100, monthlyCap: 2_000}, answer: topup},
    body: TopupBody,
    handle: ({caller, body, ...tools}) => keepTopup(tools, caller, body),
  }),

  route({
    method: 'post',
    path: '/billing/overage',
    access: {role: 'admin'},
    effect: 'money',
    summary: 'Let rows beyond the plan through, or no more',
    description: 'Each is billed by itself, with the plan.',
    answers: {200: Overage},
    refusals: ['SANDBOX_ORG', 'NOT_SUBSCRIBED', 'NOT_SOLD', 'CHANGE_IN_PROGRESS', ...ofPayment],
    example: {body: {enabled: true}, answer: {overageEnabled: true}},
    body: z.strictObject({enabled: z.boolean().describe('Whether they are let through')}),
    handle: ({caller, body, ...tools}) => switchOverage(tools, caller, body),
  }),
]
