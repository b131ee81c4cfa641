import {z} from 'zod'
import {testSchedule} from '../../shared/jobs.ts'
import {enqueue} from '../../shared/queue.ts'
import {findOwnSchedule} from '../../shared/schedules/schedule.ts'
import {findTestFetch} from '../../sql/test-fetches.ts'
import {Answer, Count, JobWith, Moment} from '../answers/common.ts'
import {templateAskerOf} from '../callers.ts'
import {answerJob} from '../job-response.ts'
import {OfSchedule} from '../params.ts'
import {route} from '../route.ts'

const Sample = Answer({
  name: z.string().describe('The name of the file'),
  bytes: Count('Its size in bytes'),
  rows: Count('Its rows'),
  columnCount: Count('Its columns'),
  columns: z.array(z.string()).describe('The names of the first 50 columns'),
  sample: z.array(z.array(z.string())).describe('The cells of the first five rows in these columns, each cut after 200 characters'),
  drift: z
    .array(
      Answer({
        stops: z.boolean().describe('Whether the schedule would not run this file with `onDrift: stop`'),
        message: z.string().describe('The difference, in words'),
      }),
    )
    .describe('How the file differs from the template, at most 20 differences'),
})

const TestFetch = Answer({
  fetchedAt: Moment('When it was fetched'),
  file: Sample.nullable().describe('The file. Null: there is none, see `problem`'),
  problem: Answer({
    code: z.string().meta({description: 'The code, for programs', examples: ['NOT_FOUND']}),
    message: z.string().describe('What happened, in words'),
  })
    .nullable()
    .describe('Why the file could not be fetched or read. Null: it could'),
}).meta({id: 'TestFetch', description: 'The result of a test fetch'})

const TestFetchStarted = Answer({
  job: JobWith(Answer({fetched: z.boolean().describe('Whether the file could be fetched and read. `GET …/test` has the details')})),
})

const testFetchExample = {
  fetchedAt: '2026-03-02T01:30:00.000Z',
  file: {
    name: 'leads.csv',
    bytes: 20_480,
    rows: 250,
    columnCount: 2,
    columns: ['Name', 'E-mail'],
    sample: [['Ada Example', 'ada@example.org']],
    drift: [],
  },
  problem: null,
}

export default [
  route({
    method: 'post',
    path: '/orgs/:org/templates/:id/schedules/:schedule/test',
    operationId: 'testSchedule',
    tag: 'Schedules',
    access: {role: 'builder'},
    summary: 'Fetch the file of a schedule as a test',
    description:
      'The job fetches the file as a firing would that is due now. It makes no import and writes nothing to the CRM. `GET …/test` shows the result. If the source was changed meanwhile, the job is refused with `SCHEDULE_CONFLICT`.',
    answers: {200: TestFetchStarted, 202: TestFetchStarted},
    refusals: ['NOT_FOUND', 'BUSY'],
    params: OfSchedule,
    async handle(input) {
      const {db, queue, caller, params} = input
      const {org, id: schedule, version} = await findOwnSchedule(db, {...templateAskerOf(caller), template: params.id, id: params.schedule})
      const job = await db.transaction(tx => enqueue(queue, testSchedule, {org, schedule, version}, {tx}))
      return answerJob(input, job, testSchedule.name)
    },
  }),

  route({
    method: 'get',
    path: '/orgs/:org/templates/:id/schedules/:schedule/test',
    operationId: 'readScheduleTest',
    tag: 'Schedules',
    access: {role: 'builder'},
    summary: 'Read the newest test fetch of a schedule',
    description: 'A result is kept for about a day, because it contains rows of the file.',
    answers: {200: Answer({test: TestFetch.nullable().describe('The newest test fetch of the last day. Null: none')})},
    refusals: ['NOT_FOUND'],
    example: {answer: {test: testFetchExample}},
    params: OfSchedule,
    async handle({db, caller, params}) {
      const {id} = await findOwnSchedule(db, {...templateAskerOf(caller), template: params.id, id: params.schedule})
      const found = await findTestFetch(db, id)
      return {test: found && {fetchedAt: found.fetchedAt, ...(found.result as object)}}
    },
  }),
]
