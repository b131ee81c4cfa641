import {z} from 'zod'
import {CreditsBody, grantByStaff} from '../../shared/credits/grant.ts'
import {PackPaymentBody, PlanPaymentBody, placeOrg, pricePack, pricePlan, setOrgSuspended} from '../../shared/entitlements/by-staff.ts'
import {describeStanding} from '../../shared/entitlements/describe.ts'
import {Reason} from '../../shared/people/staff-action.ts'
import {listPacks, listPlans} from '../../sql/plans.ts'
import {Answer} from '../answers/common.ts'
import {GrantedCredits, Pack, PricedPlan, Standing} from '../answers/plans.ts'
import {ofPayment} from '../refusal-lists.ts'
import {route} from '../route.ts'

const params = z.object({org: z.string().describe('The org (`org_`)')})

/** Plans, packs and credits as staff see and change them. */
export default [
  route({
    method: 'post',
    path: '/entitlements/admin/orgs/:org/credits',
    access: {backoffice: true},
    summary: 'Give an org AI credits',
    description:
      'The same `ref` gives nothing twice. Included credits end with the period unless `expiresAt` says otherwise, bought ones never.',
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
    access: {backoffice: true},
    summary: 'Put an org on a plan',
    description: 'On any version of any plan. From and to a plan nobody pays for, a new period begins.',
    answers: {200: Standing},
    refusals: ['NOT_FOUND', 'SANDBOX_ORG', 'ALREADY_SUBSCRIBED'],
    example: {body: {planVersionId: 'starter.1', reason: 'Agreed with sales'}},
    params,
    body: z.strictObject({planVersionId: z.string().describe('The version of the plan'), reason: Reason}),
    async handle({db, caller: {staff}, params: {org}, body}) {
      return describeStanding(await placeOrg(db, staff, {org, ...body}))
    },
  }),

  route({
    method: 'post',
    path: '/staff/orgs/:org/suspend',
    access: {backoffice: true},
    summary: 'Suspend an org',
    description: 'It begins nothing metered, whatever it has paid for; what it has begun completes.',
    answers: {200: Standing},
    refusals: ['NOT_FOUND'],
    example: {body: {reason: 'Abuse'}},
    params,
    body: z.strictObject({reason: Reason}),
    async handle({db, caller: {staff}, params: {org}, body: {reason}}) {
      return describeStanding(await setOrgSuspended(db, staff, {org, suspended: true, reason}))
    },
  }),

  route({
    method: 'post',
    path: '/staff/orgs/:org/unsuspend',
    access: {backoffice: true},
    summary: 'Lift the suspension of an org',
    answers: {200: Standing},
    refusals: ['NOT_FOUND'],
    example: {body: {reason: 'Cleared up'}},
    params,
    body: z.strictObject({reason: Reason.optional()}),
    async handle({db, caller: {staff}, params: {org}, body: {reason}}) {
      return describeStanding(await setOrgSuspended(db, staff, {org, suspended: false, reason}))
    },
  }),

  route({
    method: 'get',
    path: '/billing/admin/plans',
    access: {backoffice: true},
    summary: 'List every version of every plan',
    answers: {200: Answer({plans: z.array(PricedPlan).describe('The lowest rank first')})},
    refusals: [],
    handle: async ({db}) => ({plans: await listPlans(db)}),
  }),

  route({
    method: 'patch',
    path: '/billing/admin/plans/:id/payment',
    access: {backoffice: true},
    summary: 'Tie a plan to what the payment provider sells',
    description:
      'What is left out stays; null takes it away. Where a payment provider is configured, ids that it does not know or that do not fit are refused.',
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
    access: {backoffice: true},
    summary: 'List the packs of AI credits',
    answers: {200: Answer({packs: z.array(Pack).describe('The smallest first')})},
    refusals: [],
    handle: async ({db}) => ({packs: await listPacks(db)}),
  }),

  route({
    method: 'patch',
    path: '/billing/admin/packs/:key/payment',
    access: {backoffice: true},
    summary: 'Tie a pack of credits to what the payment provider sells',
    description:
      'What is left out stays; null takes it away. Where a payment provider is configured, an id that it does not know or that does not fit is refused.',
    answers: {200: Pack},
    refusals: ['NOT_FOUND', ...ofPayment],
    example: {body: {paymentProductId: 'prod_Example', paymentPriceId: 'price_Example'}},
    params: z.object({key: z.string().describe('The pack')}),
    body: PackPaymentBody,
    handle: ({caller: {staff}, params: {key}, body, ...tools}) => pricePack(tools, staff, {key, ...body}),
  }),
]
