import {Refusal} from '../errors.ts'
import {creditsOfWrite} from './call-credits.ts'
import type {Automation, CrmRecord, NewestRecord, ReadOptions, TimedRecord, WriteAnswer, WriteOptions} from './crm.ts'
import {asObject, CrmError} from './error.ts'
import {type CrmCallOutcome, listAt, readWrite, type SentRecords, waitOf, wholeProblem} from './outcome.ts'
import {answerOf, listOf, type SendCrmRequest} from './request.ts'

export const recordsAtOnce = 100
/**
 * The maximum number of records of a small write. A write of more records is a large call. Source:
 * zoho.com/crm/developer/docs/api/v8/api-limits.html.
 */
export const mostOfSmall = 10

export const createRecords = (sendCrmRequest: SendCrmRequest, module: string, records: Record<string, unknown>[], options: WriteOptions) =>
  write(sendCrmRequest, 'POST', {module, records, sent: {count: records.length}, options})

export const updateRecords = (
  sendCrmRequest: SendCrmRequest,
  module: string,
  records: (Record<string, unknown> & {id: string})[],
  options: WriteOptions,
) => write(sendCrmRequest, 'PUT', {module, records, sent: {count: records.length, ids: records.map(({id}) => id)}, options})

export const readRecordWithClock = async (
  sendCrmRequest: SendCrmRequest,
  module: string,
  id: string,
  {signal}: ReadOptions = {},
): Promise<TimedRecord> => {
  const outcome = await sendCrmRequest({operation: 'read', method: 'GET', path: `${pathOf(module)}/${encodeURIComponent(id)}`, signal})
  const [record] = listOf(outcome, 'data')
  return {record: asObject(record) as CrmRecord | null, clockOffsetMs: answerOf(outcome).clockOffsetMs}
}

/** Reads the record with the highest id that this user sees, converted leads included. The id is null if there is no record. */
export const readNewest = async (sendCrmRequest: SendCrmRequest, module: string, {signal}: ReadOptions = {}): Promise<NewestRecord> => {
  const query = {fields: 'id', sort_by: 'id', sort_order: 'desc', per_page: '1', ...converted(module)}
  const outcome = await sendCrmRequest({operation: 'read', method: 'GET', path: pathOf(module), query, signal})
  const [record] = listOf(outcome, 'data') as CrmRecord[]
  return {id: record?.id ?? null, clockOffsetMs: answerOf(outcome).clockOffsetMs}
}

/**
 * The CRM accepts 50 fields and 100 ids per call, and hides converted leads by default. Source: zoho.com/crm/developer/docs/api/v8/get-records.html.
 */
export const readRecords = async (
  sendCrmRequest: SendCrmRequest,
  {module, ids, fields}: {module: string; ids: string[]; fields: string[]},
  {signal}: ReadOptions = {},
): Promise<CrmRecord[]> => {
  const query = {ids: ids.join(','), fields: fields.join(','), ...converted(module)}
  return listOf(await sendCrmRequest({operation: 'read', method: 'GET', path: pathOf(module), query, signal}), 'data') as CrmRecord[]
}

/** The CRM's lists, searches and counts leave out converted leads by default. Source: the vendor's OpenAPI of records. */
export const converted = (module: string): Record<string, string> => (module === 'Leads' ? {converted: 'both'} : {})

export const pathOf = (module: string) => `/crm/v8/${encodeURIComponent(module)}`

type Write = {module: string; records: Record<string, unknown>[]; sent: SentRecords; options: WriteOptions}

/**
 * Without `trigger`, the CRM runs every automation. `lar_id` is documented for inserts and upserts only. Sources: the vendor's OpenAPI of records;
 * zoho.com/crm/developer/docs/api/v7/insert-records.html.
 */
const bodyOf = (method: 'POST' | 'PUT', records: Record<string, unknown>[], {automations, layout, assignmentRule}: WriteOptions) => ({
  data: layout == null ? records : records.map(record => ({...record, Layout: {id: layout}})),
  ...(automations !== true && {trigger: automations || []}),
  ...(method === 'POST' && assignmentRule != null && {lar_id: assignmentRule}),
})

export const FLOW_AUTOMATIONS: Automation[] = ['workflow', 'approval', 'blueprint']

/** Sends the records once. An unanswered write may have taken effect, so the caller decides whether to repeat it. */
const write = async (sendCrmRequest: SendCrmRequest, method: 'POST' | 'PUT', {module, records, sent, options}: Write) => {
  const operation = method === 'POST' ? 'create' : 'update'
  const json = JSON.stringify(bodyOf(method, records, options))
  const headers = method === 'PUT' && options.unmodifiedSince != null ? unmodifiedSince(options.unmodifiedSince) : {}
  return sendWrite(
    sendCrmRequest,
    {operation, method, path: pathOf(module), json, headers, credits: creditsOfWrite(sent.count), ...sendOptions(options)},
    sent,
  )
}

/** Returns the header in ISO 8601 with an offset, as in the vendor's pages of update and upsert (v7). The CRM's times have whole seconds. */
const unmodifiedSince = (ms: number) => ({'if-unmodified-since': `${new Date(ms).toISOString().slice(0, 19)}+00:00`})

export const sendOptions = ({signal, mayLeave}: WriteOptions) => ({signal, mayLeave})

type Request = Omit<Parameters<SendCrmRequest>[0], 'large'>

/**
 * Sends a write once and returns one result per record. If the call cannot be sent, every record gets the refusal. `arrange` converts the answer
 * to the form of a record write.
 */
export const sendWrite = async (
  sendCrmRequest: SendCrmRequest,
  request: Request,
  sent: SentRecords,
  arrange = (outcome: CrmCallOutcome) => outcome,
): Promise<WriteAnswer> => {
  const {most = recordsAtOnce} = sent
  if (sent.count > most) throw new RangeError(`A call writes at most ${most} records, not ${sent.count}`)
  if (sent.count === 0) return {results: [], clockOffsetMs: null}
  try {
    const outcome = await sendCrmRequest({...request, large: sent.count > mostOfSmall})
    const arranged = arrange(outcome)
    const whole = wholeProblem(arranged, sent.count)
    return {
      results: readWrite(arranged, sent),
      clockOffsetMs: 'json' in outcome ? outcome.clockOffsetMs : null,
      whole: whole && new CrmError(whole, waitOf(outcome)),
    }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const refusal = new Refusal(error.code, error.message, {...error.extra, written: false})
    return {results: Array.from({length: sent.count}, () => ({ok: false, sent: false, refusal})), clockOffsetMs: null}
  }
}

/** The precision of the clock offset, which is known to the second. */
const clockStepMs = 1_000

/** Returns the CRM's time of an answer that was just received, rounded up. Null if the answer had no date. */
export const timeOfAnswer = ({clockOffsetMs}: {clockOffsetMs: number | null}): string | null =>
  clockOffsetMs === null ? null : new Date(Date.now() + clockOffsetMs + clockStepMs).toISOString()

/** Puts the entries of an answer under `data`, sorted by `ids` if they name exactly these ids. The vendor documents no order. */
export const sortAnswers =
  (ids: string[], key = 'data') =>
  (outcome: CrmCallOutcome): CrmCallOutcome => {
    const items = 'json' in outcome ? listAt(outcome.json, key) : undefined
    if (!items) return outcome
    const byId = new Map(items.map(item => [asObject(asObject(item)?.details)?.id, item]))
    const isWhole = items.length === ids.length && ids.every(id => byId.has(id))
    const data = isWhole ? ids.map(id => byId.get(id)) : items
    return {...(outcome as Extract<CrmCallOutcome, {json: unknown}>), json: {data}}
  }
