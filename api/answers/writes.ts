import {z} from 'zod'
import {Write as WriteRow} from '../../sql/writes.ts'
import {Answer, Count, CrmSaid, Id, JobWith, Moment} from './common.ts'
import {Stop} from './runs.ts'

export const named = {
  rowKey: z.string().optional().describe('Your key of the row. Absent for replaced subform rows: their results come in the order sent'),
  writeId: z.string().optional().describe('The idempotency key it was sent with, if any'),
}

export const written = {
  ok: z.literal(true).describe('The record holds the values'),
  recordId: z.string().describe("The CRM's id of the record"),
  outcome: z
    .enum(['created', 'updated', 'inherited', 'skipped'])
    .describe(
      '`inherited`: written by an earlier run, and not sent again. `skipped`: the record already held every value, and nothing was sent',
    ),
  code: z.literal('UNCHANGED').optional().describe('Why the row was skipped'),
}

export const replaced = {ok: z.literal(true).describe('The rows are replaced'), deleted: Count('Rows deleted'), added: Count('Rows added')}

export const failed = {
  ok: z.literal(false).describe('Not written, or not known'),
  error: z.string().describe('What happened and what to do'),
  code: z.string().optional().describe('The error code of this service. Errors of the CRM are in `crm`'),
  crm: CrmSaid.optional().describe('The error of the CRM'),
  written: z.literal(false).optional().describe('False: certainly nothing was sent, so the same item may be sent again'),
  duplicateOf: z.string().optional().describe("The CRM's id of the one record it is a duplicate of"),
  retryAfterMs: z.int().nonnegative().optional().describe('Wait before sending it again, in milliseconds'),
  stop: Stop.optional().describe('Why the run stopped'),
  connection: z.enum(['ended', 'disconnected']).optional().describe('State of the connection'),
}

export const RecordResult = z
  .union([Answer({...named, ...written}), Answer({...named, ...failed})])
  .meta({id: 'RecordResult', description: 'The result for one record'})

export const Write = Answer({
  id: Id('wrt', 'The write'),
  runId: Id('run', 'The run'),
  kind: WriteRow.shape.kind.describe('The kind of write'),
  state: z.enum(['writing', 'done']).describe('`done`: every item has a result'),
  crm: CrmSaid.nullable().describe('An error of the CRM that applies to all items. Null: none'),
  createdAt: Moment('When it was sent'),
}).meta({id: 'Write', description: 'A write request. Readable until a week after its run ended'})

export const QueuedWrite = Answer({write: Write, job: JobWith(Answer({write: Id('wrt', 'The write')})).describe('The job of the write')})
