import {Refusal} from '../errors.ts'
import type {Automation, CrmRecord, NewestRecord, ReadOptions, TimedRecord, WriteAnswer, WriteOptions} from './crm.ts'
import {asObject, CrmError} from './error.ts'
import {readWrite, type SentRecords, waitOf, wholeProblem} from './outcome.ts'
import {answerOf, listOf, type SendCrmRequest} from './request.ts'

export const recordsAtOnce = 100
/** The most records of a small call. A write of more is a large call. Source: zoho.com/crm/developer/docs/api/v8/api-limits.html. */
export const mostOfSmall = 10

export const createRecords = (sendCrmRequest: SendCrmRequest, module: string, records: Record<string, unknown>[], options: WriteOptions) =>
  write(sendCrmRequest, 'POST', {module, records, sent: {count: records.length}, options})

export const updateRecords = (
  sendCrmRequest: SendCrmRequest,
  module: string,
  records: (Record<string, unknown> & {id: string})[],
  options: WriteOptions,
) => write(sendCrmRequest, 'PUT', {module, records, sent: {count: records.length, ids: records.map(({id}) => id)}, options})

/** Reads a record and the offset of the CRM's clock. The record is null if the CRM answers 204. */
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

/**
 * Reads the newest record that this user sees, converted leads included. Its id is null if there is none. The CRM's lists begin with the highest id
 * (wire reference 5.1).
 */
export const readNewest = async (sendCrmRequest: SendCrmRequest, module: string, {signal}: ReadOptions = {}): Promise<NewestRecord> => {
  const query = {fields: 'id', sort_by: 'id', sort_order: 'desc', per_page: '1', ...converted(module)}
  const outcome = await sendCrmRequest({operation: 'read', method: 'GET', path: pathOf(module), query, signal})
  const [record] = listOf(outcome, 'data') as CrmRecord[]
  return {id: record?.id ?? null, clockOffsetMs: answerOf(outcome).clockOffsetMs}
}

/**
 * Reads records by ids. The CRM accepts 50 fields and 100 ids per call, and hides converted leads by default. Source:
 * zoho.com/crm/developer/docs/api/v8/get-records.html.
 */
export const readRecords = async (
  sendCrmRequest: SendCrmRequest,
  {module, ids, fields}: {module: string; ids: string[]; fields: string[]},
  {signal}: ReadOptions = {},
): Promise<CrmRecord[]> => {
  const query = {ids: ids.join(','), fields: fields.join(','), ...converted(module)}
  return listOf(await sendCrmRequest({operation: 'read', method: 'GET', path: pathOf(module), query, signal}), 'data') as CrmRecord[]
}

const converted = (module: string) => (module === 'Leads' ? {converted: 'both'} : {})

export const pathOf = (module: string) => `/crm/v8/${encodeURIComponent(module)}`

type Write = {module: string; records: Record<string, unknown>[]; sent: SentRecords; options: WriteOptions}

/**
 * Returns the body of a write. Without `trigger`, the CRM runs every automation. `lar_id` is documented for inserts and upserts only.
 * Sources: the vendor's OpenAPI of records; zoho.com/crm/developer/docs/api/v7/insert-records.html.
 */
const bodyOf = (method: 'POST' | 'PUT', records: Record<string, unknown>[], {automations, layout, assignmentRule}: WriteOptions) => ({
  data: layout == null ? records : records.map(record => ({...record, Layout: {id: layout}})),
  ...(automations !== true && {trigger: automations || []}),
  ...(method === 'POST' && assignmentRule != null && {lar_id: assignmentRule}),
})

/** The automations that a flow can start. */
export const FLOW_AUTOMATIONS: Automation[] = ['workflow', 'approval', 'blueprint']

/** Sends the records once. An unanswered write may have taken effect, so the caller decides whether to repeat it. */
const write = async (
  sendCrmRequest: SendCrmRequest,
  method: 'POST' | 'PUT',
  {module, records, sent, options}: Write,
): Promise<WriteAnswer> => {
  if (records.length > recordsAtOnce) throw new RangeError(`A call writes at most ${recordsAtOnce} records, not ${records.length}`)
  if (records.length === 0) return {results: [], clockOffsetMs: null}
  const json = JSON.stringify(bodyOf(method, records, options))
  try {
    const {signal, mayLeave} = options
    const operation = method === 'POST' ? 'create' : 'update'
    const outcome = await sendCrmRequest({
      operation,
      method,
      path: pathOf(module),
      json,
      large: records.length > mostOfSmall,
      signal,
      mayLeave,
    })
    const whole = wholeProblem(outcome, sent.count)
    return {
      results: readWrite(outcome, sent),
      clockOffsetMs: 'json' in outcome ? outcome.clockOffsetMs : null,
      whole: whole && new CrmError(whole, waitOf(outcome)),
    }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const refusal = new Refusal(error.code, error.message, {...error.extra, written: false})
    return {results: records.map(() => ({ok: false, sent: false, refusal})), clockOffsetMs: null}
  }
}
