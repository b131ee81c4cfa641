import {z} from 'zod'
import {assertRecords, assertWhole, CreateBody, submitRecords, UpdateBody} from '../../shared/writes/records.ts'
import {askerOf, askWrite} from '../ask-write.ts'
import {route} from '../route.ts'

const OfModule = z.object({org: z.string(), id: z.string(), module: z.string()})

/** A hundred records of eighty thousand bytes. */
const mostBytes = 8 * 1024 ** 2

/** Records an engine outside this service has planned, written under its run: metered, logged, sent once. */
const writeRoute = (method: 'post' | 'put', kind: 'create' | 'update', body: typeof CreateBody | typeof UpdateBody) =>
  route({
    method,
    path: '/orgs/:org/connectors/:id/records/:module',
    access: {role: 'operator'},
    params: OfModule,
    body,
    mostBytes,
    async handle(input) {
      const {db, queue, caller, params, body} = input
      const place = {org: caller.org, connector: params.id, module: params.module}
      assertRecords(body)
      await assertWhole(db, place, body)
      const asked = {asker: askerOf(caller), place, kind, body}
      return askWrite(input, await db.transaction(tx => submitRecords(tx, queue, asked)))
    },
  })

export default [writeRoute('post', 'create', CreateBody), writeRoute('put', 'update', UpdateBody)]
