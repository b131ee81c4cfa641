import {z} from 'zod'
import {Refusal} from '../../shared/errors.ts'
import {findImportRun} from '../../shared/runs/find.ts'
import {readLog} from '../../shared/runs/log.ts'
import {makeResults} from '../../shared/runs/results.ts'
import {limitOf} from '../page.ts'
import {reply} from '../reply.ts'
import {route} from '../route.ts'

export default [
  route({
    method: 'get',
    path: '/orgs/:org/imports/:id/runs/:run/records',
    access: {role: 'operator'},
    params: z.object({org: z.string(), id: z.string(), run: z.string()}),
    query: z.object({limit: limitOf({usual: 500, most: 1000}), cursor: z.string().optional()}),
    async handle({db, config, caller: {org}, params, query: {limit, cursor}}) {
      return readLog(db, config.SECRETS_KEYS, await findImportRun(db, {org, importId: params.id, runId: params.run}), {limit, cursor})
    },
  }),
  route({
    method: 'get',
    path: '/orgs/:org/imports/:id/results.csv',
    access: {role: 'operator'},
    params: z.object({org: z.string(), id: z.string()}),
    query: z.object({run: z.string().optional(), source: z.string().optional()}),
    async handle({db, hot, config, storage, caller: {org}, params: {id}, query: {run: runId, source}}) {
      if (!runId) throw new Refusal('RUN_REQUIRED', 'Name the run: ?run=, from GET /orgs/{org}/imports/{id}/runs')
      const found = await findImportRun(db, {org, importId: id, runId})
      const {bytes, open} = await makeResults({hot, config, storage}, found, source)
      const name = `results-${runId}.csv`
      return reply({
        headers: {
          'content-type': 'text/csv; charset=utf-8',
          'content-length': String(bytes),
          'content-disposition': `attachment; filename="${name}"`,
        },
        body: open(),
      })
    },
  }),
]
