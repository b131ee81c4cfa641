import {Refusal} from '../errors.ts'
import type {CrmRecord, ReadOptions, TimedRecord, WriteAnswer, WriteOptions} from './crm.ts'
import {asObject, CrmError} from './error.ts'
import {readWrite, type Sent, wholeProblem} from './outcome.ts'
import {answerOf, listOf, type Reach} from './reach.ts'

export const recordsAtOnce = 100
/** A write of more records is one of the CRM's large calls. Source: wire reference 10. */
export const mostOfSmall = 10

export const createRecords = (reach: Reach, module: string, records: Record<string, unknown>[], options: WriteOptions) =>
  write(reach, 'POST', {module, records, sent: {count: records.length}, options})

export const updateRecords = (reach: Reach, module: string, records: (Record<string, unknown> & {id: string})[], options: WriteOptions) =>
  write(reach, 'PUT', {module, records, sent: {count: records.length, ids: records.map(({id}) => id)}, options})

/** 204 is "no such record". */
export const readRecordWithClock = async (reach: Reach, module: string, id: string, {signal}: ReadOptions = {}): Promise<TimedRecord> => {
  const outcome = await reach({operation: 'read', method: 'GET', path: `${pathOf(module)}/${encodeURIComponent(id)}`, signal})
  const [record] = listOf(outcome, 'data')
  return {record: asObject(record) as CrmRecord | null, clockOffsetMs: answerOf(outcome).clockOffsetMs}
}

/** The CRM takes up to 50 fields and 100 ids in a call, and hides converted leads unless told otherwise. Source: wire reference 5.1. */
export const readRecords = async (
  reach: Reach,
  {module, ids, fields}: {module: string; ids: string[]; fields: string[]},
  {signal}: ReadOptions = {},
): Promise<CrmRecord[]> => {
  const query = {ids: ids.join(','), fields: fields.join(','), ...(module === 'Leads' && {converted: 'both'})}
  return listOf(await reach({operation: 'read', method: 'GET', path: pathOf(module), query, signal}), 'data') as CrmRecord[]
}

export const pathOf = (module: string) => `/crm/v8/${encodeURIComponent(module)}`

type Write = {module: string; records: Record<string, unknown>[]; sent: Sent; options: WriteOptions}

/** Sent once: a write never answered may have been done, and whether to send it again is the caller's to find out. */
const write = async (reach: Reach, method: 'POST' | 'PUT', {module, records, sent, options}: Write): Promise<WriteAnswer> => {
  if (records.length > recordsAtOnce) throw new RangeError(`A call writes at most ${recordsAtOnce} records, not ${records.length}`)
  if (records.length === 0) return {results: [], clockOffsetMs: null}
  const json = JSON.stringify(options.automations ? {data: records} : {data: records, trigger: []})
  try {
    const {signal, mayLeave} = options
    const operation = method === 'POST' ? 'create' : 'update'
    const outcome = await reach({operation, method, path: pathOf(module), json, large: records.length > mostOfSmall, signal, mayLeave})
    const whole = wholeProblem(outcome, sent.count)
    return {
      results: readWrite(outcome, sent),
      clockOffsetMs: 'json' in outcome ? outcome.clockOffsetMs : null,
      whole: whole && new CrmError(whole),
    }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const refusal = new Refusal(error.code, error.message, {...error.extra, written: false})
    return {results: records.map(() => ({ok: false, sent: false, refusal})), clockOffsetMs: null}
  }
}
