import {z} from 'zod'
import {Refusal} from '../../shared/errors.ts'
import {eraseOrg} from '../../shared/jobs.ts'
import {setOrgClosed} from '../../shared/people/closing.ts'
import {beginOrgErasure} from '../../shared/people/erasure.ts'
import {Reason} from '../../shared/people/staff-action.ts'
import {openStaffView} from '../../shared/people/staff-view.ts'
import {type Queue, readNewestJob} from '../../shared/queue.ts'
import {Answer, JobOf} from '../answers/common.ts'
import {ErasureResult, OrgClosing, StaffView} from '../answers/staff.ts'
import {answerSent} from '../prefer.ts'
import {route} from '../route.ts'

const params = z.object({org: z.string().describe('The org (`org_`)')})

const readErasure = async (queue: Queue, org: string) => {
  const job = await readNewestJob(queue, {name: eraseOrg.name, key: org})
  if (!job) throw new Refusal('NOT_FOUND', 'This org is not being erased, or that ended too long ago')
  return job
}

const ofClosing = Answer({org: OrgClosing})
const ofErasure = Answer({job: JobOf(ErasureResult)})

export default [
  route({
    method: 'post',
    path: '/staff/orgs/:org/view',
    access: {backoffice: true, sessionOnly: true},
    summary: 'Look into an org as its admin',
    description: 'For an hour, on the record. Money and the publisher of libraries stay closed, and so does what acts for a person.',
    answers: {201: StaffView},
    refusals: ['NOT_FOUND', 'ORG_CLOSED'],
    example: {body: {write: false, reason: 'Their import stands still'}},
    params,
    body: z.strictObject({write: z.boolean().default(false).describe('Whether it may write'), reason: Reason}),
    status: 201,
    handle: ({db, config, caller, params: {org}, body}) => openStaffView(db, config, caller.staff, {org, ...body}),
  }),

  route({
    method: 'post',
    path: '/staff/orgs/:org/close',
    access: {backoffice: true},
    summary: 'Close an org',
    description:
      'Whoever is in it is refused from the next request on, and its runs lie down until it opens. What it pays for ends with the period that is paid.',
    answers: {200: ofClosing},
    refusals: ['NOT_FOUND'],
    example: {body: {reason: 'Asked for by its owner'}},
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
    summary: 'Open a closed org again',
    answers: {200: ofClosing},
    refusals: ['NOT_FOUND'],
    example: {body: {reason: 'Asked for by its owner'}},
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
    summary: 'Erase an org for good',
    description: 'Closes it and gives it to a worker. Asked again, the job that is at it is answered.',
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
    access: {backoffice: true},
    summary: 'Read how the erasure of an org goes',
    answers: {200: ofErasure},
    refusals: ['NOT_FOUND'],
    params,
    handle: async ({queue, params: {org}}) => ({job: await readErasure(queue, org)}),
  }),
]
