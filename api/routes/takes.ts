import {z} from 'zod'
import {Refusal} from '../../shared/errors.ts'
import {findModule} from '../../shared/records/module.ts'
import {takeRecord} from '../../shared/takes/take.ts'
import {askerOf} from '../ask-write.ts'
import {route} from '../route.ts'

export default [
  route({
    method: 'post',
    path: '/orgs/:org/connectors/:id/records/:module/:recordId/made',
    access: {role: 'operator'},
    params: z.object({org: z.string(), id: z.string(), module: z.string(), recordId: z.string().max(100)}),
    body: z.strictObject({
      runId: z.string().min(1),
      rowKey: z.string().min(1).max(200),
      keys: z.record(z.string(), z.unknown()).default({}),
    }),
    async handle({db, crm, caller, params: {id: connector, module: name, recordId}, body, request}) {
      const module = await findModule(db, {org: caller.org, connector, module: name})
      if (module.kind === 'subform')
        throw new Refusal('SUBFORM_NOT_WRITABLE', "A subform's rows are written with their parent: none of them is taken", {written: false})
      return takeRecord({db, crm}, {asker: askerOf(caller), connector, module, recordId, ...body}, request)
    },
  }),
]
