import {CheckoutBody, openCheckout} from '../../shared/billing/checkout.ts'
import {openPortal, PortalBody} from '../../shared/billing/portal.ts'
import {CheckoutAnswer, PortalAnswer} from '../answers/billing.ts'
import {ofPayment} from '../refusal-lists.ts'
import {route} from '../route.ts'

const checkout = (path: '/billing/checkout' | '/orgs/:org/billing/checkout') =>
  route({
    method: 'post',
    path,
    access: {role: 'admin', sessionOnly: true},
    effect: 'money',
    summary: 'Open a page to pay for a plan or for AI credits at',
    description: `The page is the payment provider's. An org has one open for a plan: the one that was opened last. What was paid for is there once the provider has
told of it, within seconds as a rule.`,
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

/** Where people pay, and where they see to what they pay with: pages of the provider's. */
export default [
  checkout('/billing/checkout'),
  checkout('/orgs/:org/billing/checkout'),

  route({
    method: 'post',
    path: '/billing/portal',
    access: {role: 'admin'},
    effect: 'money',
    summary: 'Open the page where cards are changed and invoices read',
    answers: {200: PortalAnswer},
    refusals: ['SANDBOX_ORG', 'RETURN_NOT_ALLOWED', 'NO_PAYMENT_CUSTOMER', ...ofPayment],
    example: {body: {}, answer: {url: 'https://billing.example.com/p/session/bps_a1'}},
    body: PortalBody,
    handle: ({body, caller: {org}, ...tools}) => openPortal(tools, org, body),
  }),
]
