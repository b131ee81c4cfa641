import {z} from 'zod'
import {readCursor, writeCursor} from '../../shared/cursor.ts'
import {Refusal} from '../../shared/errors.ts'
import {findImportRun} from '../../shared/runs/find.ts'
import {describeEntry} from '../../shared/runs/log.ts'
import {makeResults} from '../../shared/runs/results.ts'
import {listLog} from '../../sql/run-log.ts'
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
      const {run, snapshot} = await findImportRun(db, {org, importId: params.id, runId: params.run})
      const list = `log ${run.id}`
      const after = Number(readCursor(config.SECRETS_KEYS, list, cursor) ?? 0)
      const page = await listLog(db, {run: run.no, after, limit: limit + 1})
      const last = page.length > limit ? page[limit - 1] : undefined
      return {
        records: page.slice(0, limit).map(entry => describeEntry(entry, snapshot)),
        nextCursor: last ? writeCursor(config.SECRETS_KEYS, list, last.seq) : null,
      }
    },
  }),
  route({
    method: 'get',
    path: '/orgs/:org/imports/:id/results.csv',
    access: {role: 'operator'},
    params: z.object({org: z.string(), id: z.string()}),
    query: z.object({run: z.string().optional(), source: z.string().optional()}),
    async handle({db, hot, storage, caller: {org}, params: {id}, query: {run: runId, source}}) {
      if (!runId) throw new Refusal('RUN_REQUIRED', 'Name the run: ?run=, from GET /orgs/{org}/imports/{id}/runs')
      const found = await findImportRun(db, {org, importId: id, runId})
      const {bytes, open} = await makeResults({hot, storage}, found, source)
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
