import {describeRun} from '../../shared/runs/describe.ts'
import {findImportRun} from '../../shared/runs/find.ts'
import {File, Nothing} from '../answers/common.ts'
import {OfImportRun} from '../params.ts'
import {reply} from '../reply.ts'
import {route} from '../route.ts'
import {isToldToTheEnd, streamRun} from '../run-stream.ts'

export default [
  route({
    method: 'get',
    path: '/orgs/:org/imports/:id/runs/:run/events',
    access: {role: 'operator'},
    summary: 'Follow a run',
    description: `Server-sent events: \`state\` with \`{state, pause, stop, stoppedBy}\`, \`progress\` with \`{progress, counts, rowsWritten}\` and, last, \`end\` with \`{run}\`. A
comment comes every 15 seconds between them. The stream ends with the run, or after ten minutes: come again with \`Last-Event-ID\` and be told
what has changed since; once the end was heard the answer is 204.`,
    answers: {
      200: File('text/event-stream', 'The run as it goes on, until it ends'),
      204: Nothing('The end was heard: there is nothing more to say'),
    },
    refusals: ['IMPORT_NOT_FOUND', 'RUN_NOT_FOUND', 'BUSY'],
    params: OfImportRun,
    async handle(input) {
      const {db, request, caller, params} = input
      const found = await findImportRun(db, {org: caller.org, importId: params.id, runId: params.run})
      if (isToldToTheEnd(describeRun(found), request.headers['last-event-id'])) return reply({status: 204})
      return streamRun(input, found)
    },
  }),
]
