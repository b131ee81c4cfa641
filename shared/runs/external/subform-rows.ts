import {z} from 'zod'
import type {Db, Tx} from '../../../sql/database.ts'
import {numberName} from '../../../sql/external-runs.ts'
import {noAnswer} from '../../crm/error.ts'
import {findModule} from '../../crm/records/module.ts'
import {elementsAtOnce} from '../../crm/subforms.ts'
import {type Code, Refusal} from '../../errors.ts'
import {replaceRows} from '../../jobs.ts'
import type {Queue} from '../../queue.ts'
import {numberFlow} from '../names.ts'
import {type Result, readWrite} from './answer.ts'
import {Payload} from './payload.ts'
import type {RunCaller} from './run.ts'
import {type Submission, submitWrite} from './submit.ts'
import {refuseRepeatedWrites, repeated, rowFields, runId, writeFields} from './write-body.ts'

const parentsAtOnce = 10

/** The columns of a subform row. A row id is refused, because a row with an id would change or delete an existing row. */
const Columns = Payload.refine(
  payload => !('id' in payload || '_delete' in payload),
  'Send only columns of the subform, neither id nor _delete',
)

const Row = z.strictObject({
  ...rowFields,
  payload: Columns,
})

const Parent = z.strictObject({
  parentId: z.string().min(1).max(100).describe("The CRM's id of the record that holds the rows"),
  writeId: z
    .string()
    .min(1)
    .max(200)
    .describe("Idempotency key: the parent's rows are replaced once in this run, however often the item is sent"),
  made: z.boolean().default(false).describe('Whether this run created the parent, so that it has no rows yet'),
  rows: z.array(Row).min(1, 'Send at least one row for each parent').describe("The parent's new rows, which replace all of its rows"),
})

/** `assertRows` checks the number of parents and rows, and repeated parents and row keys, because each of these has its own refusal code. */
export const RowsBody = z.strictObject({
  runId,
  field: z.string().min(1).describe("API name of the parent's field that holds the rows"),
  child: z.string().min(1).describe("API name of the subform's own module"),
  ...writeFields,
  items: z.array(Parent).superRefine(refuseRepeatedWrites).describe('1 to 10 parents, with at most 2,000 rows together'),
})
export type RowsBody = z.output<typeof RowsBody>

/**
 * The request that the worker gets: parents in the order sent. `at`: the parent's index in the request. `childNo`, `flowNo`: the run's
 * numbers.
 */
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

export const assertRows = ({items}: RowsBody) => {
  const rows = items.flatMap(item => item.rows)
  if (items.length < 1 || items.length > parentsAtOnce) throw new Refusal('BATCH_SIZE', `Name 1 to ${parentsAtOnce} parents in a request`)
  if (rows.length > elementsAtOnce) throw new Refusal('BATCH_SIZE', `A request has at most ${elementsAtOnce} rows, not ${rows.length}`)
  const [parent] = repeated(items.map(({parentId}) => parentId))
  if (parent !== undefined)
    throw new Refusal('RECORD_REPEATED', `Parent ${items[parent]!.parentId} is named twice. Put all its rows in one item`)
  const [row] = repeated(rows.map(({rowKey}) => rowKey))
  if (row !== undefined) throw new Refusal('ROW_KEY_REPEATED', `Row key ${rows[row]!.rowKey} is used twice. Give each row its own key`)
}

type RowsTarget = {org: string; connector: string; module: string}

export const assertSubform = async (db: Db, rowsTarget: RowsTarget, {field: name, child}: RowsBody) => {
  const {apiName, fields} = await findModule(db, rowsTarget)
  const field = fields.find(one => one.apiName === name)
  if (field?.subform?.module !== child)
    throw new Refusal(
      'NOT_A_SUBFORM',
      `In the newest discovery, ${apiName} has no subform field ${name} with rows of ${child}. Check field and child`,
    )
}

type SubmitRowsInput = {asker: RunCaller; place: RowsTarget; body: RowsBody}

export const submitRows = (tx: Tx, queue: Queue, {asker, place: {connector, module}, body}: SubmitRowsInput): Promise<Submission> => {
  const {runId, items, flowId = null, field, child, automations} = body
  const requestOf = async (ats: number[], run: number): Promise<RowsRequest> => ({
    module,
    field,
    child,
    automations,
    childNo: await numberName(tx, {run, kind: 'module', name: child}),
    flowNo: await numberFlow(tx, {run, flow: flowId}),
    items: ats.map(at => ({...items[at]!, at})),
  })
  return submitWrite(
    tx,
    {queue, job: replaceRows},
    {
      asker,
      runId,
      connector,
      module,
      kind: 'replace',
      items: items.map(({writeId, ...item}) => ({writeId, body: {module, field, child, automations, flowId, ...item}})),
      requestOf: (ats, run) => requestOf(ats, run.no),
    },
  )
}

/** Codes that concern the connection or the run, not one parent or its rows. For `WRITE_UNDER_WAY`, the caller can only wait. */
const OF_ALL: Code[] = [
  'WRITE_UNDER_WAY',
  ...(['CONNECTION_THROTTLED', 'CONNECTION_UNAVAILABLE', 'CONNECTION_NOT_FOUND', 'WRITES_PAUSED', 'NOT_OFFERED'] as const),
  ...(['ORG_CLOSED', 'RUN_USED', 'RUN_ENDED', 'LEASE_LOST'] as const),
]

/** Returns one result per parent, in the order sent. If every parent has the same refusal of `OF_ALL` and was not sent, throws that refusal. */
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
  ok: false,
  code: 'WRITE_UNDER_WAY',
  crm: noAnswer,
  error: 'The CRM has not answered yet. Send the same item again under the same writeId to get its result',
}
