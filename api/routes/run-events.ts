import {describeRun} from '../../shared/runs/describe.ts'
import {findImportRun} from '../../shared/runs/find.ts'
import {File, Nothing} from '../answers/common.ts'
import {OfImportRun} from '../params.ts'
import {reply} from '../reply.ts'
import {route} from '../route.ts'
import {isStreamedToEnd, streamRun} from '../run-stream.ts'

export default [
  route({
    method: 'get',
    path: '/orgs/:org/imports/:id/runs/:run/events',
    operationId: 'followImportRun',
    tag: 'Runs',
    access: {role: 'operator', embed: 'own'},
    summary: 'Follow a run',
    description: `Server-sent events: \`state\` with \`{state, pause, stop, stoppedBy}\`, \`progress\` with \`{progress, counts, rowsWritten}\` and, last, \`end\` with \`{run}\`. A
comment is sent every 15 seconds without an event. The stream ends with the run, or after ten minutes. Reconnect with \`Last-Event-ID\` to receive
later changes. After \`end\` was received, the response is 204.`,
    answers: {
      200: File('text/event-stream', 'The events of the run'),
      204: Nothing('The client has already received the end'),
    },
    refusals: ['IMPORT_NOT_FOUND', 'RUN_NOT_FOUND', 'BUSY'],
    params: OfImportRun,
    async handle(input) {
      const {db, request, caller, params} = input
      const found = await findImportRun(db, {org: caller.org, importId: params.id, runId: params.run})
      if (isStreamedToEnd(describeRun(found), request.headers['last-event-id'])) return reply({status: 204})
      return streamRun(input, found)
    },
  }),
]
