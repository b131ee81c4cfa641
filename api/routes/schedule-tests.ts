import {testSchedule} from '../../shared/jobs.ts'
import {enqueue} from '../../shared/queue.ts'
import {findOwnSchedule} from '../../shared/schedules/schedule.ts'
import {findTestFetch} from '../../sql/test-fetches.ts'
import {TestFetchRead, TestFetchStarted, testFetchExample} from '../answers/test-fetches.ts'
import {templateAskerOf} from '../callers.ts'
import {answerJob} from '../job-response.ts'
import {OfSchedule} from '../params.ts'
import {route} from '../route.ts'

export default [
  route({
    method: 'post',
    path: '/orgs/:org/templates/:id/schedules/:schedule/test',
    operationId: 'testSchedule',
    tag: 'Schedules',
    access: {role: 'builder'},
    summary: 'Fetch the file of a schedule as a test',
    description:
      'The job fetches the file as a firing would that is due now. It makes no import and writes nothing to the CRM. `GET …/test` shows the result.',
    answers: {200: TestFetchStarted, 202: TestFetchStarted},
    refusals: ['NOT_FOUND', 'BUSY'],
    params: OfSchedule,
    async handle(input) {
      const {db, queue, caller, params} = input
      const {org, id: schedule} = await findOwnSchedule(db, {...templateAskerOf(caller), template: params.id, id: params.schedule})
      const job = await db.transaction(tx => enqueue(queue, testSchedule, {org, schedule}, {tx}))
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
    answers: {200: TestFetchRead},
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
