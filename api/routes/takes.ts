import {z} from 'zod'
import {Refusal} from '../../shared/errors.ts'
import {findModule} from '../../shared/records/module.ts'
import {takeRecord} from '../../shared/takes/take.ts'
import {runId} from '../answers/examples.ts'
import {Taken} from '../answers/writes.ts'
import {runAskerOf} from '../askers.ts'
import {OfModule} from '../params.ts'
import {route} from '../route.ts'

export default [
  route({
    method: 'post',
    path: '/orgs/:org/connectors/:id/records/:module/:recordId/made',
    access: {role: 'operator'},
    summary: 'Take a record for the row whose create was never answered',
    description: `For an engine of your own: after a create the CRM never answered, and another that it refused as a duplicate of this record. It is the row's if the
connection's own user made it since the run began. Nothing is written to the CRM.`,
    answers: {200: Taken},
    refusals: [
      ...(['NOT_FOUND', 'MODULE_NOT_FOUND', 'SUBFORM_NOT_WRITABLE', 'RUN_NOT_FOUND', 'NOT_YOUR_RUN', 'RUN_CONNECTOR_MISMATCH'] as const),
      ...(['RUN_USED', 'RUN_STOPPED', 'IMPORT_RUNNING', 'CONNECTION_UNAVAILABLE'] as const),
      ...(['CONNECTION_THROTTLED', 'DAILY_ALLOWANCE_SPENT', 'CRM_REFUSED'] as const),
    ],
    example: {body: {runId, rowKey: 'row-17', keys: {Account_Name: 'Example Ltd'}}, answer: {taken: true}},
    params: OfModule.extend({recordId: z.string().max(100).describe("The CRM's id of the record")}),
    body: z.strictObject({
      runId: z.string().min(1).describe('The run the row is of'),
      rowKey: z.string().min(1).max(200).describe('Your name of the row'),
      keys: z
        .record(z.string(), z.unknown())
        .default({})
        .describe('By API name, the values of the fields that later rows meet the record by, as the CRM has them'),
    }),
    async handle({db, crm, caller, params: {id: connector, module: name, recordId}, body, request}) {
      const module = await findModule(db, {org: caller.org, connector, module: name})
      if (module.kind === 'subform')
        throw new Refusal('SUBFORM_NOT_WRITABLE', "A subform's rows are written with their parent: none of them is taken", {written: false})
      return takeRecord({db, crm}, {asker: runAskerOf(caller), connector, module, recordId, ...body}, request)
    },
  }),
]
