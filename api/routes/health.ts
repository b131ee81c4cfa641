import {z} from 'zod'
import {checkDatabase, readMigrationState} from '../../sql/health.ts'
import {reply} from '../reply.ts'
import {route} from '../route.ts'

export default [
  route({
    method: 'get',
    path: '/health',
    access: {public: true},
    query: z.object({deep: z.string().optional().catch(undefined)}),
    async handle({hot, queue, query: {deep}}) {
      const [database, queued] = await Promise.all([isWell(checkDatabase(hot, [])), isWell(queue.schemaVersion())])
      const migrations = deep === '1' && database === 'ok' ? await readMigrationState(hot) : null
      const parts = {database, queue: queued, ...(migrations && {migrations})}
      if (database === 'ok' && queued === 'ok' && !migrations?.pending.length) return {status: 'ok', ...parts}
      return reply({
        status: 503,
        headers: {'retry-after': '5'},
        json: {error: 'Not every part is well', code: 'UNAVAILABLE', status: 'unwell', ...parts},
      })
    },
  }),

  route({
    method: 'get',
    path: '/robots.txt',
    access: {public: true},
    handle: () => reply({headers: {'content-type': 'text/plain; charset=utf-8'}, body: 'User-agent: *\nDisallow: /\n'}),
  }),
]

/** A part that does not answer at once is not well: whoever asks must not wait for it. */
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
