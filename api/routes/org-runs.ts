import {z} from 'zod'
import {cancelRun} from '../../shared/runs/cancel.ts'
import {describeRun} from '../../shared/runs/describe.ts'
import {findOrgRun} from '../../shared/runs/find.ts'
import {readLog} from '../../shared/runs/log.ts'
import {actorOf} from '../actor.ts'
import {logRecord, run} from '../answers/examples.ts'
import {LogPage, RunAnswer} from '../answers/runs.ts'
import {Cursor, limitOf} from '../paging.ts'
import {OfOrgRun} from '../params.ts'
import {ofRecords} from '../refusal-lists.ts'
import {route} from '../route.ts'

/** Routes of runs by id, including runs without an import. */
export default [
  route({
    method: 'get',
    path: '/orgs/:org/runs/:run',
    operationId: 'readRun',
    tag: 'Runs',
    access: {role: 'operator'},
    summary: 'Read a run of the org',
    answers: {200: RunAnswer},
    refusals: ['RUN_NOT_FOUND'],
    example: {answer: {run}},
    params: OfOrgRun,
    async handle({db, caller: {org}, params}) {
      return {run: describeRun(await findOrgRun(db, {org, runId: params.run}))}
    },
  }),

  route({
    method: 'get',
    path: '/orgs/:org/runs/:run/records',
    operationId: 'readRunLog',
    tag: 'Runs',
    access: {role: 'operator'},
    summary: 'Read the log of a run of the org',
    answers: {200: LogPage},
    refusals: ['RUN_NOT_FOUND', 'INVALID_CURSOR', ...ofRecords],
    example: {query: {limit: '500'}, answer: {records: [logRecord], nextCursor: null}},
    params: OfOrgRun,
    query: z.object({limit: limitOf({usual: 500, most: 1000}), cursor: Cursor}),
    async handle(input) {
      const {db, caller, params, query} = input
      return readLog(input, await findOrgRun(db, {org: caller.org, runId: params.run}), query)
    },
  }),

  route({
    method: 'post',
    path: '/orgs/:org/runs/:run/cancel',
    operationId: 'cancelRun',
    tag: 'Runs',
    access: {role: 'operator'},
    summary: 'Cancel a run of the org',
    description:
      'Stops the run. Ends it at once if it has not begun. An external engine sees the stop at its next call. Without a call, the run is ended here.',
    answers: {200: RunAnswer},
    refusals: ['RUN_NOT_FOUND'],
    example: {answer: {run: {...run, stop: {stopped: 'CANCELLED', message: 'The run was cancelled. Retry this run to continue'}}}},
    params: OfOrgRun,
    async handle({db, caller, params, request}) {
      const named = {org: caller.org, runId: params.run}
      await cancelRun(db, actorOf(caller, request), (await findOrgRun(db, named)).run)
      return {run: describeRun(await findOrgRun(db, named))}
    },
  }),
]
