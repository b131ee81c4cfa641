import {z} from 'zod'
import type {Db, Tx} from '../../sql/database.ts'
import {numberName} from '../../sql/outside-runs.ts'
import {recordsAtOnce} from '../crm/records.ts'
import {Refusal} from '../errors.ts'
import {writeRecords} from '../jobs.ts'
import type {Queue} from '../queue.ts'
import {findModule} from '../records/module.ts'
import {numberFlow} from '../runs/names.ts'
import type {Asker} from '../runs/outside.ts'
import {Payload} from './payload.ts'
import {type Submission, submitWrite} from './submit.ts'

const Item = z.strictObject({
  rowKey: z.string().min(1).max(200).describe('Your name of the row, the same whenever it is meant: no row is counted twice'),
  rowNumber: z.int().min(1).max(1_000_000_000).optional().describe('Where the row stands in its file, from 1'),
  writeId: z.string().min(1).max(200).optional().describe('Under this name it is written once in this run, however often it is sent'),
  payload: Payload,
})
const Target = Item.extend({recordId: z.string().min(1).max(100).describe("The CRM's id of the record that is updated")})

const bodyOf = <I extends typeof Item | typeof Target>(item: I) =>
  z.strictObject({
    runId: z.string().min(1).describe('The run they are written under'),
    automations: z.boolean().default(false).describe("Whether the CRM's workflows, approvals and blueprints run"),
    flowId: z.string().min(1).max(100).optional().describe('The flow the rows are of'),
    items: z
      .array(item)
      .superRefine((items, ctx) => {
        for (const at of repeated(items.map(({writeId}) => writeId)))
          ctx.addIssue({code: 'custom', path: [at, 'writeId'], message: 'Another item of this request has this writeId'})
      })
      .describe('1 to 100 records'),
  })

/** The bodies of requests to create and to update. How many items, and what comes twice, is refused under codes of its own. */
export const CreateBody = bodyOf(Item)
export const UpdateBody = bodyOf(Target)
type Body = z.output<typeof CreateBody> | z.output<typeof UpdateBody>
type Items = (z.output<typeof Item> & {recordId?: string})[]

/** What the worker is handed: items in the order sent, by their places in the request. The numbers are the run's. */
export const RecordsRequest = z.object({
  module: z.string(),
  moduleNo: z.number(),
  flowNo: z.number().nullable(),
  automations: z.boolean(),
  items: z.array(Item.extend({at: z.number(), recordId: z.string().optional()})),
})
export type RecordsRequest = z.output<typeof RecordsRequest>
export type RecordItem = RecordsRequest['items'][number]

/** Before anything is admitted or sent. */
export const assertRecords = ({items}: {items: Items}) => {
  if (items.length < 1 || items.length > recordsAtOnce) throw new Refusal('BATCH_SIZE', `Send 1 to ${recordsAtOnce} items in a request`)
  const [row] = repeated(items.map(({rowKey}) => rowKey))
  if (row !== undefined) throw new Refusal('ROW_KEY_REPEATED', `Row key ${items[row]!.rowKey} is named twice: each row has one of its own`)
  const [record] = repeated(items.map(({recordId}) => recordId))
  if (record !== undefined)
    throw new Refusal('RECORD_REPEATED', `Record ${items[record]!.recordId} is named twice: send the second change in a request after this`)
}

/** Places of what stands before them already. */
const repeated = (values: (string | undefined)[]) => {
  const seen = new Set<string>()
  return values.flatMap((value, at) => (value !== undefined && seen.size === seen.add(value).size ? [at] : []))
}

type Place = {org: string; connector: string; module: string}

/** A module of the org's own connection whose records are written by themselves, without the rows they hold: each of those is metered. */
export const assertWhole = async (db: Db, place: Place, {items}: {items: Items}) => {
  const {kind, fields} = await findModule(db, place)
  const field = fields.find(({apiName, subform}) => subform && items.some(({payload}) => Object.hasOwn(payload, apiName)))?.apiName
  if (kind !== 'subform' && !field) return
  const what = field ? `${field} holds rows of a subform, which` : "A subform's rows"
  throw new Refusal('SUBFORM_NOT_WRITABLE', `${what} are written by PUT …/records/{parent's module}/rows`, {written: false})
}

type Asked = {asker: Asker; place: Place; kind: 'create' | 'update'; body: Body}

/** Keeps what is to be written and enqueues it. An item whose `writeId` was sent before is answered from what became of it. */
export const submitRecords = (tx: Tx, queue: Queue, {asker, place: {connector, module}, kind, body}: Asked): Promise<Submission> => {
  const {runId, automations, flowId = null} = body
  const items: Items = body.items
  const requestOf = async (ats: number[], run: number): Promise<RecordsRequest> => ({
    module,
    moduleNo: await numberName(tx, {run, kind: 'module', name: module}),
    flowNo: await numberFlow(tx, {run, flow: flowId}),
    automations,
    items: ats.map(at => ({...items[at]!, at})),
  })
  return submitWrite(
    tx,
    {queue, job: writeRecords},
    {
      ...{asker, runId, connector, kind},
      items: items.map(({writeId = null, ...item}) => ({
        rowKey: item.rowKey,
        writeId,
        body: {module, automations, flowId, ...item},
      })),
      requestOf: (ats, run) => requestOf(ats, run.no),
    },
  )
}
