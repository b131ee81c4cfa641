import {z} from 'zod'
import {checkDatabase, readMigrationState} from '../../sql/health.ts'
import {File} from '../answers/common.ts'
import {Unwell, Well} from '../answers/health.ts'
import {reply} from '../reply.ts'
import {route} from '../route.ts'

export default [
  route({
    method: 'get',
    path: '/health',
    operationId: 'readHealth',
    tag: 'Service',
    access: {public: true},
    summary: 'Check the health of the service',
    description: 'For probes. Exempt from rate limits and available in maintenance mode.',
    answers: {200: Well, 503: Unwell},
    refusals: [],
    example: {answer: {status: 'ok', database: 'ok', queue: 'ok'}},
    query: z.object({deep: z.string().optional().catch(undefined).describe('`1`: include the state of the migrations')}),
    async handle({hot, queue, query: {deep}}) {
      const [database, queued] = await Promise.all([isWell(checkDatabase(hot, [])), isWell(queue.schemaVersion())])
      const migrations = deep === '1' && database === 'ok' ? await readMigrationState(hot) : null
      const parts = {database, queue: queued, ...(migrations && {migrations})}
      if (database === 'ok' && queued === 'ok' && !migrations?.pending.length) return {status: 'ok', ...parts}
      return reply({
        status: 503,
        headers: {'retry-after': '5'},
        json: {error: 'A part of the service is down. See the parts in this response', code: 'UNAVAILABLE', status: 'unwell', ...parts},
      })
    },
  }),

  route({
    method: 'get',
    path: '/robots.txt',
    operationId: 'readRobots',
    tag: 'Service',
    access: {public: true},
    summary: 'Forbid indexing by robots',
    answers: {200: File('text/plain', 'Rules that disallow all paths')},
    refusals: [],
    handle: () => reply({headers: {'content-type': 'text/plain; charset=utf-8'}, body: 'User-agent: *\nDisallow: /\n'}),
  }),
]

/** Checks one part of the service. A part that takes longer than 3 seconds counts as down, so that the probe gets a quick response. */
const isWell = async (answer: Promise<unknown>): Promise<'ok' | 'down'> => {
  const late = new Promise<'down'>(resolve => setTimeout(resolve, 3000, 'down').unref())
  return Promise.race([
    answer.then(
      () => 'ok' as const,
      () => 'down' as const,
    ),
    late,
  ])
}
