import {z} from 'zod'
import type {Db, Tx} from '../../sql/database.ts'
import {numberName} from '../../sql/outside-runs.ts'
import {elementsAtOnce} from '../crm/subforms.ts'
import {type Code, Refusal} from '../errors.ts'
import {replaceRows} from '../jobs.ts'
import type {Queue} from '../queue.ts'
import {findModule} from '../records/module.ts'
import {numberFlow} from '../runs/names.ts'
import type {Asker} from '../runs/outside.ts'
import {type Result, readWrite} from './answer.ts'
import {Payload} from './payload.ts'
import {noAnswer} from './settle.ts'
import {type Submission, submitWrite} from './submit.ts'

const parentsAtOnce = 10

/** Columns only: with an id of its own a row would change another one, or take it away. */
const Columns = Payload.refine(payload => !('id' in payload || '_delete' in payload), 'Columns of the subform: neither id nor _delete')

const Row = z.strictObject({
  rowKey: z.string().min(1).max(200).describe('Your name of the row, the same whenever it is meant: no row is counted twice'),
  rowNumber: z.int().min(1).max(1_000_000_000).optional().describe('Where the row stands in its file, from 1'),
  payload: Columns,
})

const Parent = z.strictObject({
  parentId: z.string().min(1).max(100).describe("The CRM's id of the record that holds the rows"),
  writeId: z.string().min(1).max(200).describe('Under this name its rows are replaced once in this run, however often it is sent'),
  made: z.boolean().default(false).describe('Whether this run made the parent, so that it holds no rows yet'),
  rows: z.array(Row).min(1, 'A parent comes with at least one row').describe('All the rows it holds afterwards'),
})

/** The body of a request to replace rows. How many of them, and what comes twice, is refused under codes of its own. */
export const RowsBody = z.strictObject({
  runId: z.string().min(1).describe('The run they are written under'),
  field: z.string().min(1).describe("API name of the parent's field that holds the rows"),
  child: z.string().min(1).describe("API name of the subform's own module"),
  automations: z.boolean().default(false).describe("Whether the CRM's workflows, approvals and blueprints run"),
  flowId: z.string().min(1).max(100).optional().describe('The flow the rows are of'),
  items: z
    .array(Parent)
    .superRefine((items, ctx) => {
      for (const at of repeated(items.map(({writeId}) => writeId)))
        ctx.addIssue({code: 'custom', path: [at, 'writeId'], message: 'Another item of this request has this writeId'})
    })
    .describe('1 to 10 parents, with at most 2,000 rows together'),
})
export type RowsBody = z.output<typeof RowsBody>

/** Places of what stands before them already. */
const repeated = (values: string[]) => {
  const seen = new Set<string>()
  return values.flatMap((value, at) => (seen.size === seen.add(value).size ? [at] : []))
}

/** What the worker is handed: parents in the order sent, by their places in the request. The numbers are the run's. */
export const RowsRequest = z.object({
  module: z.string(),
  field: z.string(),
  child: z.string(),
  childNo: z.number(),
  flowNo: z.number().nullable(),
  automations: z.boolean(),
  items: z.array(Parent.extend({at: z.number()})),
})
export type RowsRequest = z.output<typeof RowsRequest>
export type ParentItem = RowsRequest['items'][number]

/** Before anything is admitted or sent. */
export const assertRows = ({items}: RowsBody) => {
  const rows = items.flatMap(item => item.rows)
  if (items.length < 1 || items.length > parentsAtOnce) throw new Refusal('BATCH_SIZE', `Name 1 to ${parentsAtOnce} parents in a request`)
  if (rows.length > elementsAtOnce) throw new Refusal('BATCH_SIZE', `A request has at most ${elementsAtOnce} rows, not ${rows.length}`)
  const [parent] = repeated(items.map(({parentId}) => parentId))
  if (parent !== undefined)
    throw new Refusal('RECORD_REPEATED', `Parent ${items[parent]!.parentId} is named twice: put all its rows in one item`)
  const [row] = repeated(rows.map(({rowKey}) => rowKey))
  if (row !== undefined) throw new Refusal('ROW_KEY_REPEATED', `Row key ${rows[row]!.rowKey} is named twice: each row has one of its own`)
}

type Place = {org: string; connector: string; module: string}

/** The parent's module and its subform, as the newest discovery of the org's own connection has them. */
export const assertSubform = async (db: Db, place: Place, {field: name, child}: RowsBody) => {
  const {apiName, fields} = await findModule(db, place)
  const field = fields.find(one => one.apiName === name)
  if (field?.subform?.module !== child)
    throw new Refusal('NOT_A_SUBFORM', `The newest discovery knows no field ${name} of ${apiName} that holds rows of ${child}`)
}

type Asked = {asker: Asker; place: Place; body: RowsBody}

/** Keeps what is to be written and enqueues it. A parent whose `writeId` was sent before is answered from what became of it. */
export const submitRows = (tx: Tx, queue: Queue, {asker, place: {connector, module}, body}: Asked): Promise<Submission> => {
  const {runId, items, flowId = null, field, child, automations} = body
  const requestOf = async (ats: number[], run: number): Promise<RowsRequest> => ({
    ...{module, field, child, automations},
    childNo: await numberName(tx, {run, kind: 'module', name: child}),
    flowNo: await numberFlow(tx, {run, flow: flowId}),
    items: ats.map(at => ({...items[at]!, at})),
  })
  return submitWrite(
    tx,
    {queue, job: replaceRows},
    {
      ...{asker, runId, connector, kind: 'replace'},
      items: items.map(({writeId, ...item}) => ({writeId, body: {module, field, child, automations, flowId, ...item}})),
      requestOf: (ats, run) => requestOf(ats, run.no),
    },
  )
}

/** They are about the connection or the run, and not about one parent or the rows it has; or there is nothing to do but to wait. */
const OF_ALL: Code[] = [
  'WRITE_UNDER_WAY',
  ...(['CONNECTION_THROTTLED', 'CONNECTION_UNAVAILABLE', 'CONNECTION_NOT_FOUND', 'WRITES_PAUSED', 'NOT_OFFERED'] as const),
  ...(['ORG_CLOSED', 'RUN_USED', 'RUN_ENDED', 'LEASE_LOST'] as const),
]

/** One result for each parent, in the order sent. Throws what kept every one of them from being sent, where it is one and the same. */
export const answerRows = async (db: Db, named: {org: string; id: string}, {items}: RowsBody): Promise<{results: Result[]}> => {
  const {results: known} = await readWrite(db, named)
  const [{code, error, ok: _, rowKey: __, writeId: ___, ...extra}] = known as [Result]
  if (OF_ALL.includes(code as Code) && known.every(one => one.code === code && one.written === false))
    throw new Refusal(code as Code, String(error), {...extra, ...longestWait(known)})
  const results = known.map(result => (result.ok === null ? underWay : result))
  return {results: items.map(({parentId, writeId}, at) => ({parentId, ...results[at]!, writeId}))}
}

const longestWait = (results: Result[]) => {
  const waits = results.flatMap(({retryAfterMs}) => (typeof retryAfterMs === 'number' ? [retryAfterMs] : []))
  return waits.length > 0 && {retryAfterMs: Math.max(...waits)}
}

const underWay = {
  ...{ok: false, code: 'WRITE_UNDER_WAY', crm: noAnswer},
  error: 'Nothing was heard of it yet: send the same again under the same writeId and you are answered what became of it',
}
