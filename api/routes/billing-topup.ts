import {z} from 'zod'
import {switchOverage} from '../../shared/billing/overage-switch.ts'
import {describeTopup, keepTopup, TopupBody} from '../../shared/billing/topup-settings.ts'
import {route} from '../route.ts'

/** What an org lets us charge without being asked each time. */
export default [
  route({
    method: 'get',
    path: '/billing/autotopup',
    access: {role: 'admin'},
    handle: ({db, caller: {org}}) => describeTopup(db, org),
  }),

  route({
    method: 'post',
    path: '/billing/autotopup',
    access: {role: 'admin'},
    effect: 'money',
    body: TopupBody,
    handle: ({caller, body, ...tools}) => keepTopup(tools, caller, body),
  }),

  route({
    method: 'post',
    path: '/billing/overage',
    access: {role: 'admin'},
    effect: 'money',
    body: z.strictObject({enabled: z.boolean()}),
    handle: ({caller, body, ...tools}) => switchOverage(tools, caller, body),
  }),
]
