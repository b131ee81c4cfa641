import {z} from 'zod'
import {setOrgClosed} from '../../shared/accounts/closing.ts'
import {beginOrgErasure} from '../../shared/accounts/erasure.ts'
import {Reason} from '../../shared/accounts/staff-action.ts'
import {openStaffView} from '../../shared/accounts/staff-view.ts'
import {Refusal} from '../../shared/errors.ts'
import {eraseOrg} from '../../shared/jobs.ts'
import {type Queue, readNewestJob} from '../../shared/queue.ts'
import {Answer, Count, Id, JobOf, Moment} from '../answers/common.ts'
import {answerSent} from '../job-response.ts'
import {route} from '../route.ts'

const OrgClosing = Answer({
  id: Id('org', 'The org'),
  name: z.string().describe('Name of the org'),
  closedAt: Moment('When it was closed').nullable().describe('When it was closed. Null: it is open'),
  erasingAt: Moment('When its erasure began').nullable().describe('When its erasure began. Null: it has not'),
}).meta({id: 'OrgClosing'})

const StaffView = Answer({
  token: z.string().describe('The bearer token of the view, with the admin role in the org'),
  expiresAt: Moment('When the view ends: after one hour'),
})

const params = z.object({org: z.string().describe('The org (`org_`)')})

const readErasure = async (queue: Queue, org: string) => {
  const job = await readNewestJob(queue, {name: eraseOrg.name, key: org})
  if (!job) throw new Refusal('NOT_FOUND', 'There is no erasure of this org, or it ended too long ago')
  return job
}

const ofClosing = Answer({org: OrgClosing})
const ofErasure = Answer({job: JobOf(Answer({rows: Count('Rows deleted')}))})

export default [
  route({
    method: 'post',
    path: '/staff/orgs/:org/view',
    operationId: 'viewOrg',
    tag: 'Staff',
    access: {backoffice: true, sessionOnly: true},
    summary: 'Open a staff view of an org',
    description:
      'Gives admin access for one hour. Every write is recorded. Billing, library publishers and actions on behalf of a person are excluded.',
    answers: {201: StaffView},
    refusals: ['NOT_FOUND', 'ORG_CLOSED'],
    example: {body: {write: false, reason: 'Their import is stuck'}},
    params,
    body: z.strictObject({write: z.boolean().default(false).describe('Whether the view allows writing'), reason: Reason}),
    status: 201,
    handle: ({db, config, caller, params: {org}, body}) => openStaffView(db, config, caller.staff, {org, ...body}),
  }),

  route({
    method: 'post',
    path: '/staff/orgs/:org/close',
    operationId: 'closeOrg',
    tag: 'Staff',
    access: {backoffice: true},
    summary: 'Close an org',
    description:
      'Members are refused from their next request on, and runs pause until the org is reopened. Its subscription ends with the paid period.',
    answers: {200: ofClosing},
    refusals: ['NOT_FOUND'],
    example: {body: {reason: 'Requested by the owner'}},
    params,
    body: z.strictObject({reason: Reason}),
    async handle({db, queue, caller: {staff}, params: {org}, body: {reason}}) {
      return {org: await setOrgClosed(db, queue, staff, {org, closed: true, reason})}
    },
  }),

  route({
    method: 'post',
    path: '/staff/orgs/:org/reopen',
    operationId: 'reopenOrg',
    tag: 'Staff',
    access: {backoffice: true},
    summary: 'Reopen a closed org',
    answers: {200: ofClosing},
    refusals: ['NOT_FOUND'],
    example: {body: {reason: 'Requested by the owner'}},
    params,
    body: z.strictObject({reason: Reason.optional()}),
    async handle({db, queue, caller: {staff}, params: {org}, body: {reason}}) {
      return {org: await setOrgClosed(db, queue, staff, {org, closed: false, reason})}
    },
  }),

  route({
    method: 'post',
    path: '/staff/orgs/:org/erase',
    operationId: 'eraseOrg',
    tag: 'Staff',
    access: {operator: true},
    summary: 'Erase an org permanently',
    description: 'Closes the org and starts a job that erases it. If one is running, that job is returned.',
    answers: {200: ofErasure, 202: ofErasure},
    refusals: ['NOT_FOUND', 'BUSY'],
    example: {body: {reason: 'The contract ended'}},
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
    operationId: 'readErasure',
    tag: 'Staff',
    access: {backoffice: true},
    summary: 'Read the erasure job of an org',
    answers: {200: ofErasure},
    refusals: ['NOT_FOUND'],
    params,
    handle: async ({queue, params: {org}}) => ({job: await readErasure(queue, org)}),
  }),
]
