import {z} from 'zod'
import {Reason} from '../../shared/accounts/staff-action.ts'
import {CreditsBody, grantByStaff} from '../../shared/billing/credits/grant.ts'
import {
  PackPaymentBody,
  PlanPaymentBody,
  placeOrg,
  pricePack,
  pricePlan,
  setOrgSuspended,
} from '../../shared/billing/entitlements/by-staff.ts'
import {describePlanStatus} from '../../shared/billing/entitlements/describe.ts'
import {listPacks, listPlans} from '../../sql/plans.ts'
import {Answer, Count, Currency} from '../answers/common.ts'
import {Balance, features, PlanLimits, PlanStatusAnswer, planVersion, TaxBehavior} from '../answers/plans.ts'
import {ofPayment} from '../refusal-lists.ts'
import {route} from '../route.ts'

const amounts = Answer({
  currency: Currency,
  amounts: z.record(z.string(), z.string()).describe('By `month`, `year`, `overage` or `pack`, as decimals of the smallest unit'),
  taxBehavior: TaxBehavior.optional(),
})
  .nullable()
  .describe('Prices of the payment provider, as last verified. Null: never verified')

const paymentId = (what: string) => z.string().nullable().describe(`The payment provider's id of ${what}. Null: not on sale`)

const PricedPlan = Answer({
  id: planVersion,
  key: z.string().describe('The plan, independent of its version'),
  version: z.int().positive().describe('The version, from 1'),
  name: z.string().describe('The name'),
  rank: z.int().describe('Rank among the plans. A higher rank is an upgrade'),
  limits: PlanLimits,
  features,
  sold: z.boolean().describe('Whether the plan is offered to orgs'),
  paymentProductId: paymentId('the product'),
  paymentPriceMonthlyId: paymentId('the price of a month'),
  paymentPriceAnnualId: paymentId('the price of a year'),
  paymentPriceOverageId: paymentId('the price of rows beyond the plan'),
  amounts,
}).meta({id: 'PricedPlan'})

const Pack = Answer({
  key: z.string().describe('The pack'),
  name: z.string().describe('The name'),
  credits: Count('AI credits in the pack'),
  paymentProductId: paymentId('the product'),
  paymentPriceId: paymentId('the price'),
  amounts,
}).meta({id: 'Pack'})

const GrantedCredits = Answer({
  ref: z.string().describe('Idempotency key of the grant: the same `ref` is granted only once'),
  balance: Balance,
})

const params = z.object({org: z.string().describe('The org (`org_`)')})

export default [
  route({
    method: 'post',
    path: '/entitlements/admin/orgs/:org/credits',
    operationId: 'grantCredits',
    tag: 'Plans by staff',
    access: {backoffice: true},
    summary: 'Grant AI credits to an org',
    description:
      'The same `ref` is granted only once. Included credits expire with the period unless `expiresAt` is set; purchased credits never expire.',
    answers: {200: GrantedCredits},
    refusals: ['NOT_FOUND'],
    example: {body: {pool: 'purchased', credits: 500, ref: 'ticket-4711', reason: 'For the outage of March'}},
    params,
    body: CreditsBody,
    handle: ({db, caller: {staff}, params: {org}, body}) => grantByStaff(db, staff, {org, ...body}),
  }),

  route({
    method: 'post',
    path: '/staff/orgs/:org/plan',
    operationId: 'placeOrg',
    tag: 'Plans by staff',
    access: {backoffice: true},
    summary: 'Move an org to a plan',
    description: 'Any version of any plan. A move between plans without a subscription starts a new period.',
    answers: {200: PlanStatusAnswer},
    refusals: ['NOT_FOUND', 'SANDBOX_ORG', 'ALREADY_SUBSCRIBED'],
    example: {body: {planVersionId: 'starter.1', reason: 'Agreed with sales'}},
    params,
    body: z.strictObject({planVersionId: z.string().describe('The version of the plan'), reason: Reason}),
    async handle({db, caller: {staff}, params: {org}, body}) {
      return describePlanStatus(await placeOrg(db, staff, {org, ...body}))
    },
  }),

  route({
    method: 'post',
    path: '/staff/orgs/:org/suspend',
    operationId: 'suspendOrg',
    tag: 'Plans by staff',
    access: {backoffice: true},
    summary: 'Suspend an org',
    description: 'The org cannot start anything metered, even if it has paid. Whatever has started completes.',
    answers: {200: PlanStatusAnswer},
    refusals: ['NOT_FOUND'],
    example: {body: {reason: 'Abuse'}},
    params,
    body: z.strictObject({reason: Reason}),
    async handle({db, caller: {staff}, params: {org}, body: {reason}}) {
      return describePlanStatus(await setOrgSuspended(db, staff, {org, suspended: true, reason}))
    },
  }),

  route({
    method: 'post',
    path: '/staff/orgs/:org/unsuspend',
    operationId: 'unsuspendOrg',
    tag: 'Plans by staff',
    access: {backoffice: true},
    summary: 'Lift the suspension of an org',
    answers: {200: PlanStatusAnswer},
    refusals: ['NOT_FOUND'],
    example: {body: {reason: 'Cleared up'}},
    params,
    body: z.strictObject({reason: Reason.optional()}),
    async handle({db, caller: {staff}, params: {org}, body: {reason}}) {
      return describePlanStatus(await setOrgSuspended(db, staff, {org, suspended: false, reason}))
    },
  }),

  route({
    method: 'get',
    path: '/billing/admin/plans',
    operationId: 'listPlans',
    tag: 'Plans by staff',
    access: {backoffice: true},
    summary: 'List every version of every plan',
    answers: {200: Answer({plans: z.array(PricedPlan).describe('Lowest rank first')})},
    refusals: [],
    handle: async ({db}) => ({plans: await listPlans(db)}),
  }),

  route({
    method: 'patch',
    path: '/billing/admin/plans/:id/payment',
    operationId: 'pricePlan',
    tag: 'Plans by staff',
    access: {backoffice: true},
    summary: 'Link a plan to prices of the payment provider',
    description: 'Omitted values stay; null removes a value. If a payment provider is configured, unknown or unsuitable ids are refused.',
    answers: {200: PricedPlan},
    refusals: ['NOT_FOUND', ...ofPayment],
    example: {body: {paymentProductId: 'prod_Example', paymentPriceMonthlyId: 'price_Monthly'}},
    params: z.object({id: z.string().describe('The version of the plan')}),
    body: PlanPaymentBody,
    handle: ({caller: {staff}, params: {id}, body, ...tools}) => pricePlan(tools, staff, {id, ...body}),
  }),

  route({
    method: 'get',
    path: '/billing/admin/packs',
    operationId: 'listPacks',
    tag: 'Plans by staff',
    access: {backoffice: true},
    summary: 'List the packs of AI credits',
    answers: {200: Answer({packs: z.array(Pack).describe('Smallest first')})},
    refusals: [],
    handle: async ({db}) => ({packs: await listPacks(db)}),
  }),

  route({
    method: 'patch',
    path: '/billing/admin/packs/:key/payment',
    operationId: 'pricePack',
    tag: 'Plans by staff',
    access: {backoffice: true},
    summary: 'Link a pack to a price of the payment provider',
    description: 'Omitted values stay; null removes a value. If a payment provider is configured, unknown or unsuitable ids are refused.',
    answers: {200: Pack},
    refusals: ['NOT_FOUND', ...ofPayment],
    example: {body: {paymentProductId: 'prod_Example', paymentPriceId: 'price_Example'}},
    params: z.object({key: z.string().describe('The pack')}),
    body: PackPaymentBody,
    handle: ({caller: {staff}, params: {key}, body, ...tools}) => pricePack(tools, staff, {key, ...body}),
  }),
]
