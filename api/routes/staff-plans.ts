import {z} from 'zod'
import {CreditsBody, grantByStaff} from '../../shared/credits/grant.ts'
import {PackPaymentBody, PlanPaymentBody, placeOrg, pricePack, pricePlan, setOrgSuspended} from '../../shared/entitlements/by-staff.ts'
import {describeStanding} from '../../shared/entitlements/describe.ts'
import {Reason} from '../../shared/people/staff-action.ts'
import {listPacks, listPlans} from '../../sql/plans.ts'
import {route} from '../route.ts'

const params = z.object({org: z.string()})

/** Plans, packs and credits as staff see and change them. */
export default [
  route({
    method: 'post',
    path: '/entitlements/admin/orgs/:org/credits',
    access: {backoffice: true},
    params,
    body: CreditsBody,
    handle: ({db, caller: {staff}, params: {org}, body}) => grantByStaff(db, staff, {org, ...body}),
  }),

  route({
    method: 'post',
    path: '/staff/orgs/:org/plan',
    access: {backoffice: true},
    params,
    body: z.strictObject({planVersionId: z.string(), reason: Reason}),
    async handle({db, caller: {staff}, params: {org}, body}) {
      return describeStanding(await placeOrg(db, staff, {org, ...body}))
    },
  }),

  route({
    method: 'post',
    path: '/staff/orgs/:org/suspend',
    access: {backoffice: true},
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
    handle: async ({db}) => ({plans: await listPlans(db)}),
  }),

  route({
    method: 'patch',
    path: '/billing/admin/plans/:id/payment',
    access: {backoffice: true},
    params: z.object({id: z.string()}),
    body: PlanPaymentBody,
    handle: ({db, caller: {staff}, params: {id}, body}) => pricePlan(db, staff, {id, ...body}),
  }),

  route({
    method: 'get',
    path: '/billing/admin/packs',
    access: {backoffice: true},
    handle: async ({db}) => ({packs: await listPacks(db)}),
  }),

  route({
    method: 'patch',
    path: '/billing/admin/packs/:key/payment',
    access: {backoffice: true},
    params: z.object({key: z.string()}),
    body: PackPaymentBody,
    handle: ({db, caller: {staff}, params: {key}, body}) => pricePack(db, staff, {key, ...body}),
  }),
]
