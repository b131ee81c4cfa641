import type {Db} from '../../../sql/database.ts'
import {noteQuota} from '../../../sql/runs.ts'
import {mapConcurrent} from '../../concurrency/map-concurrent.ts'
import {Refusal} from '../../errors.ts'
import {CrmError, type CrmRecord} from '../crm.ts'
import type {DiscoveredModule} from '../discovered.ts'
import {withName} from './display-name.ts'
import type {OpenModule} from './module.ts'

export const idsAtOnce = 100
const callsAtOnce = 3

type Names = {fields: string[]; check: string[]}

/**
 * Returns one record or null per id, in the order of `ids`, with `id` and these fields only. If `fields` is empty, reads every field that a list of
 * records can contain. `dropped`: the names in `fields`, or in `check` if `fields` is empty, that are unknown or that such a list cannot contain.
 */
export const readByIds = async (
  {module, connection}: OpenModule,
  {ids, ...names}: Names & {ids: string[]},
  options: {signal: AbortSignal},
): Promise<{records: (CrmRecord | null)[]; dropped: string[]}> => {
  const {asked, dropped} = chooseFields(module, names)
  const known = [...new Set(ids.filter(connection.isRecordId))]
  const calls = known.length === 0 ? [] : chunksOf(asked, connection.fieldsPerRead)
  const parts = await mapConcurrent(calls, callsAtOnce, fields =>
    connection.readRecords({module: module.apiName, ids: known, fields}, options),
  )
  const kept = new Set(['id', ...asked])
  const records = merge(parts)
  const naming = {namingField: asked.includes(module.namingField ?? '') ? module.namingField : null}
  return {records: ids.map(id => (records.has(id) ? withName(pickFields(records.get(id)!, kept), naming) : null)), dropped}
}

/** Field types that a list of records never contains, so they would look empty. Source: zoho.com/crm/developer/docs/api/v8/get-records.html. */
const neverListed = ['subform', 'multiselectlookup', 'multiuserlookup']

const chooseFields = (module: DiscoveredModule, {fields, check}: Names) => {
  const listed = new Set(module.fields.filter(({type}) => !neverListed.includes(type)).map(({apiName}) => apiName))
  const missing = (names: string[]) => [...new Set(names)].filter(name => name !== 'id' && !listed.has(name))
  if (fields.length === 0) return {asked: [...listed], dropped: missing(check)}
  return {asked: [...new Set(fields)].filter(name => listed.has(name)), dropped: missing(fields)}
}

/** Without fields, reads `id`, because the CRM refuses a read without fields. */
const chunksOf = (fields: string[], most: number) =>
  fields.length === 0
    ? [['id']]
    : Array.from({length: Math.ceil(fields.length / most)}, (_, at) => fields.slice(at * most, (at + 1) * most))

const pickFields = (record: CrmRecord, kept: Set<string>) =>
  Object.fromEntries(Object.entries(record).filter(([name]) => kept.has(name))) as CrmRecord

/** A record that is missing from one answer was deleted meanwhile and is omitted. */
const merge = (parts: CrmRecord[][]): Map<string, CrmRecord> => {
  const [first = [], ...others] = parts.map(records => new Map(records.map(record => [record.id, record])))
  return new Map(
    [...first].flatMap(([id, record]) =>
      others.every(part => part.has(id)) ? [[id, Object.assign({}, record, ...others.map(part => part.get(id)))] as const] : [],
    ),
  )
}

type QuotaNoteInput = {org: string; connector: string; run: string | undefined}

/**
 * If the read fails because the daily quota is exhausted, notes this on `run` and rethrows the error. A run that is closing, has ended or uses
 * another connection stays unchanged.
 */
export const withQuotaNote = async <T>(db: Db, {run, ...place}: QuotaNoteInput, read: () => Promise<T>): Promise<T> => {
  try {
    return await read()
  } catch (error) {
    if (run !== undefined && isSpent(error)) await noteQuota(db, {...place, id: run})
    throw error
  }
}

const isSpent = (error: unknown) =>
  (error instanceof CrmError && error.crm.quotaSpent) || (error instanceof Refusal && error.code === 'DAILY_ALLOWANCE_SPENT')
