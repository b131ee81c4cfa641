import {CheckoutBody, openCheckout} from '../../shared/billing/checkout.ts'
import {openPortal, PortalBody} from '../../shared/billing/portal.ts'
import {route} from '../route.ts'

const checkout = (path: '/billing/checkout' | '/orgs/:org/billing/checkout') =>
  route({
    method: 'post',
    path,
    access: {role: 'admin', sessionOnly: true},
    effect: 'money',
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
    body: PortalBody,
    handle: ({body, caller: {org}, ...tools}) => openPortal(tools, org, body),
  }),
]
