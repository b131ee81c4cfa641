import {z} from 'zod'
import {JobAnswer} from '../answers/common.ts'
import {describeJob} from '../job-response.ts'
import {route} from '../route.ts'

export default [
  route({
    method: 'get',
    path: '/orgs/:org/jobs/:id',
    operationId: 'readJob',
    tag: 'Jobs',
    access: {role: 'operator'},
    summary: 'Read a job',
    description: 'Responses with status 202 name a job. The queue deletes a job one day after its end.',
    answers: {200: JobAnswer},
    refusals: ['NOT_FOUND'],
    example: {
      answer: {
        id: '0f8fad5b-d9cb-469f-a165-70867728950e',
        name: 'import.check',
        state: 'running',
        result: null,
        error: null,
        createdAt: '2026-03-01T08:30:00.000Z',
        startedAt: '2026-03-01T08:30:00.120Z',
        endedAt: null,
        progress: {done: 12_000, total: 50_000, unit: 'rows'},
      },
    },
    params: z.object({id: z.string().describe('The job id from a 202')}),
    handle: input => describeJob(input, input.params.id),
  }),
]
