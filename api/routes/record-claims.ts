import {z} from 'zod'
import {findModule} from '../../shared/crm/records/module.ts'
import {Refusal} from '../../shared/errors.ts'
import {claimRecord} from '../../shared/runs/record-claims/claim.ts'
import {Answer} from '../answers/common.ts'
import {runId} from '../answers/examples.ts'
import {runAskerOf} from '../callers.ts'
import {OfModule} from '../params.ts'
import {route} from '../route.ts'

const Taken = z.union([
  Answer({taken: z.literal(true).describe('The record is claimed for the row')}),
  Answer({
    taken: z.literal(false).describe('The record is not claimed'),
    why: z
      .enum(['another', 'earlier', 'gone', 'unread', 'held', 'reused', 'ended'])
      .describe(
        '`another`: another user created it. `earlier`: it is older than the run. `gone`: the CRM does not show it. `unread`: it does not show its creator or creation time. `held`: another row of this or another run on the same CRM org has this record, or this row was sent again. `reused`: the row has another record. `ended`: the run has ended',
      ),
  }),
])

export default [
  route({
    method: 'post',
    path: '/orgs/:org/connectors/:id/records/:module/:recordId/made',
    operationId: 'takeRecord',
    tag: 'Records',
    access: {role: 'operator'},
    mayRefuseAfterChange: true,
    summary: 'Claim the record of an unanswered create',
    description: `For external engines: use it after an unanswered create whose retry the CRM refused as a duplicate of this record. The claim succeeds if the user of
the connection created the record after the run started. Nothing is written to the CRM. A row whose create was sent before is not counted again; any other
row counts as a row of the run.`,
    answers: {200: Taken},
    refusals: [
      ...(['NOT_FOUND', 'MODULE_NOT_FOUND', 'SUBFORM_NOT_WRITABLE', 'RUN_NOT_FOUND', 'NOT_YOUR_RUN', 'RUN_CONNECTOR_MISMATCH'] as const),
      ...(['RUN_USED', 'RUN_STOPPED', 'IMPORT_RUNNING', 'BUSY', 'CONNECTION_UNAVAILABLE'] as const),
      ...(['CONNECTION_THROTTLED', 'DAILY_ALLOWANCE_SPENT', 'CRM_REFUSED'] as const),
    ],
    example: {body: {runId, rowKey: 'row-17', keys: {Account_Name: 'Example Ltd'}}, answer: {taken: true}},
    params: OfModule.extend({recordId: z.string().max(100).describe("The CRM's id of the record")}),
    body: z.strictObject({
      runId: z.string().min(1).describe('The run of the row'),
      rowKey: z.string().min(1).max(200).describe('Your key of the row'),
      keys: z
        .record(z.string(), z.unknown())
        .default({})
        .describe('Values, by API name, of the fields by which later rows match the record, as stored in the CRM'),
    }),
    async handle({db, crm, caller, params: {id: connector, module: name, recordId}, body, request}) {
      const module = await findModule(db, {org: caller.org, connector, module: name})
      if (module.kind === 'subform')
        throw new Refusal(
          'SUBFORM_NOT_WRITABLE',
          'Subform rows are written with their parent record and cannot be claimed. Claim the parent record',
          {written: false},
        )
      return claimRecord({db, crm}, {asker: runAskerOf(caller), connector, module, recordId, ...body}, request)
    },
  }),
]
