import type {Db} from '../../sql/database.ts'
import {noteAllowance} from '../../sql/runs.ts'
import {CrmError, type CrmRecord} from '../crm/crm.ts'
import type {DiscoveredModule} from '../crm/discovered.ts'
import {inLanes} from '../crm/lanes.ts'
import {Refusal} from '../errors.ts'
import {withName} from './display-name.ts'
import type {OpenModule} from './module.ts'

export const idsAtOnce = 100
/** The CRM refuses a read that names more. Source: wire reference 5.1. */
const fieldsPerCall = 50
const callsAtOnce = 3

type Names = {fields: string[]; check: string[]}

/**
 * One record or null for each id, in the order asked: one call for every fifty fields, each made for every id. `dropped` are the names
 * asked for, or to be checked, that the answer cannot carry.
 */
export const readByIds = async (
  {module, connection}: OpenModule,
  {ids, ...names}: Names & {ids: string[]},
  options: {signal: AbortSignal},
): Promise<{records: (CrmRecord | null)[]; dropped: string[]}> => {
  const {asked, dropped} = chooseFields(module, names)
  const known = [...new Set(ids.filter(connection.isRecordId))]
  const calls = known.length === 0 ? [] : chunksOf(asked)
  const parts = await inLanes(calls, callsAtOnce, fields => connection.readRecords({module: module.apiName, ids: known, fields}, options))
  const records = merge(parts)
  const naming = {namingField: asked.includes(module.namingField ?? '') ? module.namingField : null}
  return {records: ids.map(id => (records.has(id) ? withName(records.get(id)!, naming) : null)), dropped}
}

/** A list of records never carries these: they would read as empty. Source: wire reference 5.1. */
const neverListed = ['subform', 'multiselectlookup', 'multiuserlookup']

const chooseFields = (module: DiscoveredModule, {fields, check}: Names) => {
  const listed = new Set(module.fields.filter(({type}) => !neverListed.includes(type)).map(({apiName}) => apiName))
  const missing = (names: string[]) => [...new Set(names)].filter(name => name !== 'id' && !listed.has(name))
  if (fields.length === 0) return {asked: [...listed], dropped: missing(check)}
  return {asked: [...new Set(fields)].filter(name => listed.has(name)), dropped: missing(fields)}
}

/** The CRM refuses a read that names nothing; the id always comes. */
const chunksOf = (fields: string[]) =>
  fields.length === 0
    ? [['id']]
    : Array.from({length: Math.ceil(fields.length / fieldsPerCall)}, (_, at) => fields.slice(at * fieldsPerCall, (at + 1) * fieldsPerCall))

/** A record that one of the calls no longer finds is gone. */
const merge = (parts: CrmRecord[][]): Map<string, CrmRecord> => {
  const [first = [], ...others] = parts.map(records => new Map(records.map(record => [record.id, record])))
  return new Map(
    [...first].flatMap(([id, record]) =>
      others.every(part => part.has(id)) ? [[id, Object.assign({}, record, ...others.map(part => part.get(id)))] as const] : [],
    ),
  )
}

type Noting = {org: string; connector: string; run: string | undefined}

/** A read made for a run and refused because the day's allowance is spent is noted on the run, if that is an open one of this connection. */
export const notingAllowance = async <T>(db: Db, {run, ...place}: Noting, read: () => Promise<T>): Promise<T> => {
  try {
    return await read()
  } catch (error) {
    if (run !== undefined && isSpent(error)) await noteAllowance(db, {...place, id: run})
    throw error
  }
}

const isSpent = (error: unknown) =>
  (error instanceof CrmError && error.crm.quotaSpent) || (error instanceof Refusal && error.code === 'DAILY_ALLOWANCE_SPENT')
