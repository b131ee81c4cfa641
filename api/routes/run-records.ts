import {z} from 'zod'
import {findImportRun} from '../../shared/runs/find.ts'
import {readLog} from '../../shared/runs/log.ts'
import {logRecord} from '../answers/examples.ts'
import {LogPage} from '../answers/runs.ts'
import {Cursor, limitOf} from '../paging.ts'
import {OfImportRun} from '../params.ts'
import {ofRecords} from '../refusal-lists.ts'
import {route} from '../route.ts'

export default [
  route({
    method: 'get',
    path: '/orgs/:org/imports/:id/runs/:run/records',
    operationId: 'readImportRunLog',
    tag: 'Runs',
    access: {role: 'operator'},
    summary: 'Read the log of a run',
    description:
      'Every attempt of every row. A cursor stays valid while the run is active: used again, it also returns entries written since.',
    answers: {200: LogPage},
    refusals: ['IMPORT_NOT_FOUND', 'RUN_NOT_FOUND', 'INVALID_CURSOR', ...ofRecords],
    example: {query: {limit: '500'}, answer: {records: [logRecord], nextCursor: null}},
    params: OfImportRun,
    query: z.object({limit: limitOf({usual: 500, most: 1000}), cursor: Cursor}),
    async handle(input) {
      const {db, caller, params, query} = input
      return readLog(input, await findImportRun(db, {org: caller.org, importId: params.id, runId: params.run}), query)
    },
  }),
]
