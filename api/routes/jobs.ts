import {z} from 'zod'
import {JobAnswer} from '../answers/common.ts'
import {describeJob} from '../prefer.ts'
import {route} from '../route.ts'

export default [
  route({
    method: 'get',
    path: '/orgs/:org/jobs/:id',
    access: {role: 'operator'},
    summary: 'Read a job',
    description: 'What answered 202 names one. The queue forgets a job a day after its end.',
    answers: {200: JobAnswer},
    refusals: ['NOT_FOUND'],
    example: {
      answer: {
        ...{id: '0f8fad5b-d9cb-469f-a165-70867728950e', name: 'import.check', state: 'running', result: null, error: null},
        ...{createdAt: '2026-03-01T08:30:00.000Z', startedAt: '2026-03-01T08:30:00.120Z', endedAt: null},
        progress: {done: 12_000, total: 50_000, unit: 'rows'},
      },
    },
    params: z.object({id: z.string().describe('The job, as a 202 names it')}),
    handle: input => describeJob(input, input.params.id),
  }),
]
