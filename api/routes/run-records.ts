import {z} from 'zod'
import {Refusal} from '../../shared/errors.ts'
import {findImportRun} from '../../shared/runs/find.ts'
import {readLog} from '../../shared/runs/log.ts'
import {makeRunFile, type RunFile} from '../../shared/runs/results.ts'
import {limitOf} from '../page.ts'
import {reply} from '../reply.ts'
import {route} from '../route.ts'

/** A file made from one run and one of its sources. */
const runFile = (kind: RunFile, path: `/${string}`) =>
  route({
    method: 'get',
    path,
    access: {role: 'operator'},
    params: z.object({org: z.string(), id: z.string()}),
    query: z.object({run: z.string().optional(), source: z.string().optional()}),
    async handle({db, hot, config, storage, caller: {org}, params: {id}, query: {run: runId, source}}) {
      if (!runId) throw new Refusal('RUN_REQUIRED', 'Name the run: ?run=, from GET /orgs/{org}/imports/{id}/runs')
      const found = await findImportRun(db, {org, importId: id, runId})
      const {bytes, body} = await makeRunFile({db, hot, config, storage}, found, kind, source)
      return reply({
        headers: {
          'content-type': 'text/csv; charset=utf-8',
          'content-length': String(bytes),
          'content-disposition': `attachment; filename="${kind}-${runId}.csv"`,
        },
        body,
      })
    },
  })

export default [
  route({
    method: 'get',
    path: '/orgs/:org/imports/:id/runs/:run/records',
    access: {role: 'operator'},
    params: z.object({org: z.string(), id: z.string(), run: z.string()}),
    query: z.object({limit: limitOf({usual: 500, most: 1000}), cursor: z.string().optional()}),
    async handle(input) {
      const {db, caller, params, query} = input
      return readLog(input, await findImportRun(db, {org: caller.org, importId: params.id, runId: params.run}), query)
    },
  }),
  runFile('results', '/orgs/:org/imports/:id/results.csv'),
  runFile('failed', '/orgs/:org/imports/:id/failed.csv'),
  runFile('plan', '/orgs/:org/imports/:id/plan.csv'),
]
