import {z} from 'zod'
import {readChecks} from '../../shared/checks/read.ts'
import {requestCheck} from '../../shared/checks/request.ts'
import {checkImport} from '../../shared/jobs.ts'
import {limitOf} from '../page.ts'
import {answerJob} from '../prefer.ts'
import {route} from '../route.ts'

const params = z.object({org: z.string(), id: z.string()})

/** What of an import would fail in a run, found without the CRM. */
export default [
  route({
    method: 'post',
    path: '/orgs/:org/imports/:id/checks',
    access: {role: 'operator'},
    params,
    async handle(input) {
      const {db, queue, caller, params} = input
      const job = await db.transaction(tx => requestCheck(tx, queue, {org: caller.org, importId: params.id}))
      return answerJob(input, job, checkImport.name)
    },
  }),
  route({
    method: 'get',
    path: '/orgs/:org/imports/:id/checks',
    access: {role: 'operator'},
    params,
    query: z.object({limit: limitOf({usual: 100, most: 500}), cursor: z.string().optional()}),
    handle({db, queue, config, caller: {org}, params: {id}, query}) {
      const {limit, cursor} = query
      return readChecks({db, queue, ring: config.SECRETS_KEYS}, {org, importId: id, cursor, limit})
    },
  }),
]
