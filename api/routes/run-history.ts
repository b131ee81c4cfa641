import {z} from 'zod'
import {historyOf, RunsFilter} from '../../shared/runs/history.ts'
import {Answer, NextCursor} from '../answers/common.ts'
import {Run} from '../answers/runs.ts'
import {Cursor, limitOf} from '../paging.ts'
import {route} from '../route.ts'

const OrgRuns = Answer({
  runs: z
    .array(Run.extend({importName: z.string().nullable().describe('Name of the import. Null: a run without an import')}))
    .describe('Newest first'),
  nextCursor: NextCursor,
})

export default [
  route({
    method: 'get',
    path: '/orgs/:org/runs',
    operationId: 'listRuns',
    tag: 'Runs',
    summary: 'List the runs of the org',
    description: 'Newest first, dry runs included.',
    access: {role: 'operator'},
    params: z.object({org: z.string()}),
    query: RunsFilter.extend({limit: limitOf({usual: 25, most: 100}), cursor: Cursor}),
    answers: {200: OrgRuns},
    refusals: ['INVALID_CURSOR', 'IMPORT_NOT_FOUND'],
    example: {query: {state: 'queued,writing,paused,closing'}},
    handle: ({db, config, caller: {org}, query}) => historyOf({db, ring: config.SECRETS_KEYS}, {org, ...query}),
  }),
]
