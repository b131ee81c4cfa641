import {z} from 'zod'
import {switchOverage} from '../../shared/billing/overage-switch.ts'
import {describeTopup, keepTopup, TopupBody} from '../../shared/billing/topup-settings.ts'
import {Topup} from '../answers/billing.ts'
import {Answer} from '../answers/common.ts'
import {ofPayment} from '../refusal-lists.ts'
import {route} from '../route.ts'

const topup = {
  enabled: true,
  packKey: 'credits_500',
  threshold: 100,
  monthlyCap: 2_000,
  month: {month: '2026-03', used: 500, remaining: 1_500},
  stopped: null,
  underWay: null,
}

/** Routes for charges that an org approves in advance: automatic top-ups and overage. */
export default [
  route({
    method: 'get',
    path: '/billing/autotopup',
    operationId: 'readAutoTopup',
    tag: 'Billing',
    access: {role: 'admin'},
    summary: 'Read the automatic top-up of AI credits',
    answers: {200: Topup},
    refusals: [],
    example: {answer: topup},
    handle: ({db, caller: {org}}) => describeTopup(db, org),
  }),

  route({
    method: 'post',
    path: '/billing/autotopup',
    operationId: 'setAutoTopup',
    tag: 'Billing',
    access: {role: 'admin'},
    effect: 'money',
    summary: 'Set the automatic top-up of AI credits',
    description:
      'Omitted values stay as they are. If the balance is already below the new threshold, a pack is bought at once. Disabling stops all further charges.',
    answers: {200: Topup},
    refusals: ['SANDBOX_ORG', 'NOT_SOLD', 'NO_PAYMENT_CUSTOMER', ...ofPayment],
    example: {body: {enabled: true, packKey: 'credits_500', threshold: 100, monthlyCap: 2_000}, answer: topup},
    body: TopupBody,
    handle: ({caller, body, ...tools}) => keepTopup(tools, caller, body),
  }),

  route({
    method: 'post',
    path: '/billing/overage',
    operationId: 'setOverage',
    tag: 'Billing',
    access: {role: 'admin'},
    effect: 'money',
    summary: 'Enable or disable overage',
    description: 'With overage, rows beyond the plan are imported and billed per row, together with the plan.',
    answers: {200: Answer({overageEnabled: z.boolean().describe('Whether rows beyond the plan are imported and billed')})},
    refusals: ['SANDBOX_ORG', 'NOT_SUBSCRIBED', 'NOT_SOLD', 'CHANGE_IN_PROGRESS', ...ofPayment],
    example: {body: {enabled: true}, answer: {overageEnabled: true}},
    body: z.strictObject({enabled: z.boolean().describe('Whether rows beyond the plan are imported')}),
    handle: ({caller, body, ...tools}) => switchOverage(tools, caller, body),
  }),
]
