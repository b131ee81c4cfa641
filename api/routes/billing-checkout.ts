import {z} from 'zod'
import {CheckoutBody, openCheckout} from '../../shared/billing/checkout.ts'
import {openPortal, PortalBody} from '../../shared/billing/portal.ts'
import {Answer} from '../answers/common.ts'
import {ofPayment} from '../refusal-lists.ts'
import {route} from '../route.ts'

const Url = (what: string) => z.url().describe(what)

const CheckoutAnswer = Answer({
  kind: z.literal('checkout').describe('A checkout page'),
  url: Url('The page of the payment provider. Nothing is bought until payment there'),
})

const PortalAnswer = Answer({
  url: Url('The portal of the payment provider for cards, invoices and cancelling. Valid for a few minutes'),
})

const checkout = (path: '/billing/checkout' | '/orgs/:org/billing/checkout', operationId: string) =>
  route({
    method: 'post',
    path,
    operationId,
    tag: 'Billing',
    access: {role: 'admin', sessionOnly: true},
    effect: 'money',
    summary: 'Create a checkout page for a plan or AI credits',
    description: `The payment provider hosts the page. An org has at most one open page for a plan; a new one replaces it. A purchase takes effect when the provider's
event arrives, usually within seconds.`,
    answers: {200: CheckoutAnswer},
    refusals: [
      ...(['SANDBOX_ORG', 'RETURN_NOT_ALLOWED', 'NOT_SOLD', 'ALREADY_SUBSCRIBED', 'CHECKOUT_SUPERSEDED', 'TRIAL_ENDING'] as const),
      ...ofPayment,
    ],
    example: {
      body: {kind: 'plan', planKey: 'starter', interval: 'month'},
      answer: {kind: 'checkout', url: 'https://checkout.example.com/c/pay/cs_a1'},
    },
    body: CheckoutBody,
    handle: ({body, caller, ...tools}) => openCheckout(tools, caller, body),
  })

export default [
  checkout('/billing/checkout', 'checkOutPack'),
  checkout('/orgs/:org/billing/checkout', 'checkOutPlan'),

  route({
    method: 'post',
    path: '/billing/portal',
    operationId: 'openPortal',
    tag: 'Billing',
    access: {role: 'admin'},
    effect: 'money',
    summary: 'Create a portal page for cards and invoices',
    answers: {200: PortalAnswer},
    refusals: ['SANDBOX_ORG', 'RETURN_NOT_ALLOWED', 'NO_PAYMENT_CUSTOMER', ...ofPayment],
    example: {body: {}, answer: {url: 'https://billing.example.com/p/session/bps_a1'}},
    body: PortalBody,
    handle: ({body, caller: {org}, ...tools}) => openPortal(tools, org, body),
  }),
]
