import {z} from 'zod'
import {findOwn} from '../../shared/crm/choose.ts'
import {QuotaCheck, readQuota} from '../../shared/crm/limits/quota-report.ts'
import {checkCredits} from '../../shared/jobs.ts'
import {enqueue} from '../../shared/queue.ts'
import {Answer, JobWith, Moment} from '../answers/common.ts'
import {awaitJob} from '../await-job.ts'
import {route} from '../route.ts'

const Credits = Answer({
  remaining: z
    .int()
    .nullable()
    .describe('Calls left in the daily API quota, as last reported by the CRM. Null: never reported, or more than a day ago'),
  remainingAt: Moment('When the CRM reported it').nullable().describe('When the CRM reported it. Null: never'),
  allowance: z.int().nonnegative().nullable().describe('Daily API quota of the licence. Null: not known'),
  allowanceAtLeast: z.boolean().describe('Whether `allowance` is a lower bound, because the CRM does not report purchased credits'),
  edition: z.string().nullable().describe('The edition of the licence. Null: not known'),
  spent: z.boolean().describe('Whether the CRM refuses calls because the daily quota is exhausted'),
  spentAt: Moment('When it first refused').nullable().describe('When it first refused for that reason. Null: it does not'),
}).meta({id: 'Credits'})

const CreditCheck = Answer({
  credits: Credits,
  asked: z.boolean().describe('Whether a call was sent to the CRM'),
  answered: z.boolean().describe('Whether the CRM answered, even if only that its quota is exhausted'),
  notAsked: QuotaCheck.shape.notAsked.describe(
    'Why no call was sent. `cannot`: this kind of connection has no quota. `too_soon`: a call was sent less than 30 seconds ago. Null: a call was sent, or no worker started the job',
  ),
}).meta({id: 'CreditCheck'})

const OfConnector = z.object({org: z.string(), id: z.string().describe('The connection (`con_`)')})

export default [
  route({
    method: 'get',
    path: '/orgs/:org/connectors/:id/credits',
    operationId: 'readCredits',
    tag: 'Connections',
    access: {role: 'operator'},
    summary: 'Read the last known API quota of the CRM',
    description: 'Makes no call to the CRM. The values are null for a connection without an API quota.',
    answers: {200: Answer({credits: Credits})},
    refusals: ['NOT_FOUND'],
    params: OfConnector,
    async handle({db, caller, params}) {
      return {credits: await readQuota(db, await findOwn(db, {org: caller.org, id: params.id}))}
    },
  }),

  route({
    method: 'post',
    path: '/orgs/:org/connectors/:id/credits/check',
    operationId: 'checkCredits',
    tag: 'Connections',
    access: {role: 'operator'},
    summary: 'Read the current API quota from the CRM',
    description:
      'Makes at most one call to the CRM, and none within 30 seconds of the last. Waits for the result unless `Prefer` says otherwise.',
    answers: {200: CreditCheck, 202: Answer({job: JobWith(CreditCheck)})},
    refusals: ['NOT_FOUND'],
    example: {
      answer: {
        credits: {
          remaining: 48_211,
          remainingAt: '2026-03-01T08:30:00.000Z',
          allowance: 50_000,
          allowanceAtLeast: true,
          edition: 'enterprise',
          spent: false,
          spentAt: null,
        },
        asked: true,
        answered: true,
        notAsked: null,
      },
    },
    params: OfConnector,
    async handle(input) {
      const {db, queue, caller, params} = input
      const connector = await findOwn(db, {org: caller.org, id: params.id})
      const payload = {org: caller.org, connector: connector.id}
      const id = await db.transaction(tx => enqueue(queue, checkCredits, payload, {tx}))
      const notHeard = async (asked: boolean) => ({credits: await readQuota(db, connector), asked, answered: false, notAsked: null})
      const describe = (end: 'unstarted' | 'unknown' | {answer: object}) =>
        typeof end === 'object' ? end.answer : notHeard(end === 'unknown')
      return awaitJob(input, {job: checkCredits, id: id!, describe})
    },
  }),
]
