import {z} from 'zod'
import type {Db, Tx} from '../../../sql/database.ts'
import {numberName} from '../../../sql/external-runs.ts'
import {assertUnmapped, readIdempotencyFields} from '../../configuration/idempotency-field.ts'
import {recordsAtOnce} from '../../crm/record-calls.ts'
import {findModule} from '../../crm/records/module.ts'
import {Refusal} from '../../errors.ts'
import {writeRecords} from '../../jobs.ts'
import type {Queue} from '../../queue.ts'
import {numberFlow} from '../names.ts'
import {Payload} from './payload.ts'
import type {RunCaller} from './run.ts'
import {type Submission, submitWrite} from './submit.ts'
import {refuseRepeatedWrites, repeated, rowFields, runId, writeFields} from './write-body.ts'

const Item = z.strictObject({
  ...rowFields,
  writeId: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('Idempotency key: the item is written once in this run, however often it is sent'),
  payload: Payload,
})
const Target = Item.extend({recordId: z.string().min(1).max(100).describe("The CRM's id of the record to update")})

const Unchanged = z.enum(['skip', 'write']).default('write')

const bodyOf = <I extends typeof Item | typeof Target>(item: I) =>
  z.strictObject({
    runId,
    ...writeFields,
    items: z.array(item).superRefine(refuseRepeatedWrites).describe('1 to 100 records'),
  })

/** `assertRecords` checks the number of items, repeated row keys and repeated records, because each of these has its own refusal code. */
export const CreateBody = bodyOf(Item)
export const UpdateBody = bodyOf(Target).extend({
  unchanged: Unchanged.describe(
    'If the record already holds every value: skip the row with the code `UNCHANGED`, unmetered, or update it all the same. A row that the run last refused is always updated',
  ),
})
type Body = z.output<typeof CreateBody> | z.output<typeof UpdateBody>
type Items = (z.output<typeof Item> & {recordId?: string})[]

/** The request that the worker gets: items in the order sent. `at`: the item's index in the request. `moduleNo`, `flowNo`: the run's numbers. */
export const RecordsRequest = z.object({
  module: z.string(),
  moduleNo: z.number(),
  flowNo: z.number().nullable(),
  automations: z.boolean(),
  unchanged: Unchanged,
  items: z.array(Item.extend({at: z.number(), recordId: z.string().optional()})),
})
export type RecordsRequest = z.output<typeof RecordsRequest>
export type RecordItem = RecordsRequest['items'][number]

export const assertRecords = ({items}: {items: Items}) => {
  if (items.length < 1 || items.length > recordsAtOnce) throw new Refusal('BATCH_SIZE', `Send 1 to ${recordsAtOnce} items in a request`)
  const [row] = repeated(items.map(({rowKey}) => rowKey))
  if (row !== undefined) throw new Refusal('ROW_KEY_REPEATED', `Row key ${items[row]!.rowKey} is used twice. Give each row its own key`)
  const [record] = repeated(items.map(({recordId}) => recordId))
  if (record !== undefined)
    throw new Refusal('RECORD_REPEATED', `Record ${items[record]!.recordId} is named twice. Send the second change in a later request`)
}

type RecordsTarget = {org: string; connector: string; module: string}

/**
 * Refuses a subform module and items with a subform field, because another route writes and meters subform rows. Also refuses items with the
 * module's idempotency field.
 */
export const assertWhole = async (db: Db, recordsTarget: RecordsTarget, {items}: {items: Items}) => {
  const {kind, fields} = await findModule(db, recordsTarget)
  const {module} = recordsTarget
  const named = items.map(({payload}) => ({module, fields: Object.keys(payload).map(field => ({field}))}))
  assertUnmapped(named, await readIdempotencyFields(db, recordsTarget))
  const field = fields.find(({apiName, subform}) => subform && items.some(({payload}) => Object.hasOwn(payload, apiName)))?.apiName
  if (kind !== 'subform' && !field) return
  const what = field ? `${field} holds subform rows, which` : 'Subform rows'
  throw new Refusal('SUBFORM_NOT_WRITABLE', `${what} are written by PUT …/records/{parent's module}/rows`, {written: false})
}

type SubmitRecordsInput = {asker: RunCaller; place: RecordsTarget; kind: 'create' | 'update'; body: Body}

export const submitRecords = (
  tx: Tx,
  queue: Queue,
  {asker, place: {connector, module}, kind, body}: SubmitRecordsInput,
): Promise<Submission> => {
  const {runId, automations, flowId = null} = body
  const unchanged = 'unchanged' in body ? body.unchanged : 'write'
  const items: Items = body.items
  const requestOf = async (ats: number[], run: number): Promise<RecordsRequest> => ({
    module,
    moduleNo: await numberName(tx, {run, kind: 'module', name: module}),
    flowNo: await numberFlow(tx, {run, flow: flowId}),
    automations,
    unchanged,
    items: ats.map(at => ({...items[at]!, at})),
  })
  return submitWrite(
    tx,
    {queue, job: writeRecords},
    {
      asker,
      runId,
      connector,
      module,
      kind,
      items: items.map(({writeId = null, ...item}) => ({
        rowKey: item.rowKey,
        writeId,
        // `unchanged` is part of the digest only if it is `skip`, so that items of earlier builds keep their digest.
        body: {module, automations, flowId, ...item, ...(unchanged === 'skip' && {unchanged})},
      })),
      requestOf: (ats, run) => requestOf(ats, run.no),
    },
  )
}
