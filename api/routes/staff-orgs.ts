import {z} from 'zod'
import {Refusal} from '../../shared/errors.ts'
import {eraseOrg} from '../../shared/jobs.ts'
import {setOrgClosed} from '../../shared/people/closing.ts'
import {beginOrgErasure} from '../../shared/people/erasure.ts'
import {Reason} from '../../shared/people/staff-action.ts'
import {openStaffView} from '../../shared/people/staff-view.ts'
import {type Queue, readNewestJob} from '../../shared/queue.ts'
import {answerSent} from '../prefer.ts'
import {route} from '../route.ts'

const params = z.object({org: z.string()})

const readErasure = async (queue: Queue, org: string) => {
  const job = await readNewestJob(queue, {name: eraseOrg.name, key: org})
  if (!job) throw new Refusal('NOT_FOUND', 'This org is not being erased, or that ended too long ago')
  return job
}

export default [
  route({
    method: 'post',
    path: '/staff/orgs/:org/view',
    access: {backoffice: true, sessionOnly: true},
    params,
    body: z.strictObject({write: z.boolean().default(false), reason: Reason}),
    status: 201,
    handle: ({db, config, caller, params: {org}, body}) => openStaffView(db, config, caller.staff, {org, ...body}),
  }),

  route({
    method: 'post',
    path: '/staff/orgs/:org/close',
    access: {backoffice: true},
    params,
    body: z.strictObject({reason: Reason}),
    async handle({db, queue, caller: {staff}, params: {org}, body: {reason}}) {
      return {org: await setOrgClosed(db, queue, staff, {org, closed: true, reason})}
    },
  }),

  route({
    method: 'post',
    path: '/staff/orgs/:org/reopen',
    access: {backoffice: true},
    params,
    body: z.strictObject({reason: Reason.optional()}),
    async handle({db, queue, caller: {staff}, params: {org}, body: {reason}}) {
      return {org: await setOrgClosed(db, queue, staff, {org, closed: false, reason})}
    },
  }),

  route({
    method: 'post',
    path: '/staff/orgs/:org/erase',
    access: {operator: true},
    params,
    body: z.strictObject({reason: Reason}),
    async handle(input) {
      const {db, queue, params, body} = input
      const id = await beginOrgErasure(db, queue, {org: params.org, ...body})
      const location = `/staff/orgs/${params.org}/erasure`
      return answerSent(input, {id, name: eraseOrg.name, location, describe: () => readErasure(queue, params.org)})
    },
  }),

  route({
    method: 'get',
    path: '/staff/orgs/:org/erasure',
    access: {backoffice: true},
    params,
    handle: async ({queue, params: {org}}) => ({job: await readErasure(queue, org)}),
  }),
]
