import {z} from 'zod'
import {describeRun} from '../../shared/runs/describe.ts'
import {findImportRun} from '../../shared/runs/find.ts'
import {reply} from '../reply.ts'
import {route} from '../route.ts'
import {isToldToTheEnd, streamRun} from '../run-stream.ts'

export default [
  route({
    method: 'get',
    path: '/orgs/:org/imports/:id/runs/:run/events',
    access: {role: 'operator'},
    params: z.object({org: z.string(), id: z.string(), run: z.string()}),
    async handle(input) {
      const {db, request, caller, params} = input
      const found = await findImportRun(db, {org: caller.org, importId: params.id, runId: params.run})
      if (isToldToTheEnd(describeRun(found), request.headers['last-event-id'])) return reply({status: 204})
      return streamRun(input, found)
    },
  }),
]
