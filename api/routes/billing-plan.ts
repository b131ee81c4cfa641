import {z} from 'zod'
import {changePlan, takeBackPending} from '../../shared/billing/plan-change.ts'
import {previewChange} from '../../shared/billing/preview.ts'
import {route} from '../route.ts'

const access = {role: 'admin', sessionOnly: true} as const
const params = z.object({org: z.string()})
const Wanted = {planKey: z.string().max(64), interval: z.enum(['month', 'year']).default('month')}

export default [
  route({
    method: 'post',
    path: '/orgs/:org/billing/plan',
    access,
    effect: 'money',
    params,
    body: z.strictObject({...Wanted, previewToken: z.string().max(4096).optional()}),
    handle: ({caller: {org, person}, body, ...tools}) => changePlan(tools, {org, person, ...body}),
  }),

  route({
    method: 'post',
    path: '/orgs/:org/billing/plan/preview',
    access,
    effect: 'money',
    params,
    body: z.strictObject(Wanted),
    handle: ({caller: {org, person}, body, ...tools}) => previewChange(tools, {org, person, ...body}),
  }),

  route({
    method: 'delete',
    path: '/orgs/:org/billing/plan/pending',
    access,
    effect: 'money',
    params,
    handle: ({caller: {org, person}, ...tools}) => takeBackPending(tools, {org, person}),
  }),
]
