import {z} from 'zod'
import {replaceRows} from '../../shared/jobs.ts'
import {answerRows, assertRows, assertSubform, RowsBody, submitRows} from '../../shared/writes/rows.ts'
import {askerOf, askWrite} from '../ask-write.ts'
import {route} from '../route.ts'

/** The rows that records hold in a subform, replaced by those of a sheet, under the run of an engine outside this service. */
export default [
  route({
    method: 'put',
    path: '/orgs/:org/connectors/:id/records/:module/rows',
    access: {role: 'operator'},
    params: z.object({org: z.string(), id: z.string(), module: z.string()}),
    body: RowsBody,
    mostBytes: 8 * 1024 ** 2,
    async handle(input) {
      const {db, queue, caller, params, body} = input
      const place = {org: caller.org, connector: params.id, module: params.module}
      assertRows(body)
      await assertSubform(db, place, body)
      const submission = await db.transaction(tx => submitRows(tx, queue, {asker: askerOf(caller), place, body}))
      return askWrite(input, submission, {by: replaceRows, answer: (db, named) => answerRows(db, named, body)})
    },
  }),
]
