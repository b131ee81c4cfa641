import {z} from 'zod'
import {checkDatabase, readMigrationState} from '../../sql/health.ts'
import {Answer, Count, File} from '../answers/common.ts'
import {reply} from '../reply.ts'
import {route} from '../route.ts'

const Part = (what: string) => z.enum(['ok', 'down']).describe(`${what}: \`ok\` if it answered within three seconds`)

const parts = {
  database: Part('The database'),
  queue: Part('The job queue'),
  migrations: Answer({
    applied: Count('Migrations applied to this database'),
    pending: z.array(z.string()).describe('Names of migrations of this release that are not applied'),
  })
    .optional()
    .describe('Only with `deep=1`, and if the database answers'),
}

const Unwell = Answer({
  error: z.string().describe('What happened, for people'),
  code: z.literal('UNAVAILABLE').describe('The error code, for programs'),
  status: z.literal('unwell').describe('At least one part is down'),
  ...parts,
})

export default [
  route({
    method: 'get',
    path: '/health',
    operationId: 'readHealth',
    tag: 'Service',
    access: {public: true},
    summary: 'Check the health of the service',
    description: 'For probes. Exempt from rate limits and available in maintenance mode.',
    answers: {200: Answer({status: z.literal('ok').describe('All parts are up'), ...parts}).meta({id: 'Health'}), 503: Unwell},
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

/** Checks whether one part of the service answers. After 3 seconds, the part is reported as down, so that the probe gets a quick response. */
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
