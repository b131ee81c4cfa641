import {CrmError, type CrmRecord, type MadeControl, type MadeQuery} from '../../shared/crm/crm.ts'
import {isTokenRefused} from '../../shared/crm/error.ts'
import {listCreated, listHows} from '../../sql/chain-rows.ts'
import {lagSecondsOf} from './admission.ts'
import {findHeldElsewhere} from './claims.ts'
import type {Context} from './context.ts'
import {comparedOf} from './equal.ts'
import type {Candidate} from './match-lost-creates.ts'
import {askPatiently} from './patience.ts'
import type {Row, Track} from './row.ts'

/** When the creates were under way, by this process's clock. */
export type Window = {fromMs: number; toMs: number}

/** `madeAtMs`: by this process's clock. `field`: the most selective of those the CRM was searched by. */
export type Found = {
  records: {record: CrmRecord; madeAtMs: number}[]
  field: string | null
  /** A record that is not among them does not exist. */
  isProven: boolean
  /** The chain has created a record, by which a search can be proven. */
  hasControl: boolean
}

const idsPerRead = 50
/** The CRM answers 50 fields at most; two are the maker's and the moment's. Source: wire reference 5.1. */
const fieldsPerRead = 48
/** Clock tolerance of the search: the CRM tells times in whole seconds. */
const toleranceMs = 2_000

/** The tolerance of the search, and the second that the CRM cuts off. */
const creationToleranceMs = 3_000

/** Whether a record's creation time lies in the interval, with tolerance. */
export const isWithin = ({fromMs, toMs}: Window, atMs: number) => atMs >= fromMs - creationToleranceMs && atMs <= toMs + creationToleranceMs

/**
 * Finds the records that this connection's CRM user made while these creates were in flight, with the fields that the rows sent. Null if the CRM
 * cannot search, or finds too many.
 */
export const findRecords = async (ctx: Context, track: Track, rows: Row[], window: Window): Promise<Found | null> => {
  const {connection, lease} = ctx
  const fields = selectiveFieldsOf(track, rows)
  const {crmUserId: user} = connection.connector
  const [fromMs, toMs] = [window.fromMs - toleranceMs, window.toMs + toleranceMs]
  const control = await readControl(ctx, track, fields)
  const query = {module: track.module.apiName, user, fromMs, toMs, groups: groupValues(fields, rows), control}
  const made = await askPatiently(ctx, async () => (await connection.findMade?.(query, {signal: lease.lost})) ?? null)
  if (made === null || made === 'many') return null
  const read = await readAll(ctx, track, rows, made.ids)
  if (!read?.every(isSigned)) return null
  const records = read
    .filter(record => makerOf(record) === user)
    .map(record => ({record, madeAtMs: Date.parse(String(record.Created_Time)) - made.clockOffsetMs}))
  const {isProven} = made
  const within = records.filter(({madeAtMs}) => isWithin(window, madeAtMs))
  return {records: within, field: fields[0]?.apiName ?? null, isProven, hasControl: control !== null}
}

const controlsRead = 10

/** The oldest of some records that the chain created and this CRM user made, with a value in each of the fields. */
const readControl = async (ctx: Context, {module}: Track, fields: Field[]): Promise<MadeControl | null> => {
  const {connection, lease} = ctx
  const ids = await listCreated(ctx.db, {chain: ctx.chain, module: module.no, limit: controlsRead})
  if (ids.length === 0) return null
  const names = fields.map(({apiName}) => apiName)
  const query = {module: module.apiName, ids: [...ids], fields: ['Created_By', 'Created_Time', ...names]}
  const read = await askPatiently(ctx, () => connection.readRecords(query, {signal: lease.lost}).catch(orNull))
  const controls = (read ?? []).flatMap(record => {
    const values = names.map(name => [name, record[name]] as const)
    const isUsable = isSigned(record) && makerOf(record) === connection.connector.crmUserId && values.every(([, value]) => isText(value))
    const createdMs = Date.parse(String(record.Created_Time))
    return isUsable ? [{id: record.id, createdMs, values: Object.fromEntries(values) as Record<string, string>}] : []
  })
  const [oldest] = controls.sort((one, other) => one.createdMs - other.createdMs)
  return oldest ? {...oldest, lagMs: lagSecondsOf(ctx) * 1000} : null
}

const isText = (value: unknown) => typeof value === 'string' && value.trim() !== ''

const makerOf = ({Created_By: maker}: CrmRecord) => (maker as {id?: unknown} | null | undefined)?.id

/** It says who made it, and when. */
const isSigned = (record: CrmRecord) => typeof makerOf(record) === 'string' && !Number.isNaN(Date.parse(String(record.Created_Time)))

/** Which rows made these records or took them over, in any run at the CRM org; and which rows of the chain met them. */
export const holdersOf = async (ctx: Context, track: Track, records: Found['records']): Promise<Candidate[]> => {
  const ids = records.map(({record: {id}}) => id)
  const hows = await listHows(ctx.db, {chain: ctx.chain, module: track.module.no, records: ids})
  const elsewhere = await findHeldElsewhere(ctx, track, ids)
  const made = new Set([...elsewhere, ...hows.filter(({how}) => how <= 2).map(({recordId}) => recordId)])
  const met = new Set(hows.map(({recordId}) => recordId))
  return records.map(({record, madeAtMs}) => ({
    ...{record, madeAtMs},
    holder: made.has(record.id) ? 'made' : met.has(record.id) ? 'met' : null,
  }))
}

/** Types the CRM can be searched by, the most selective first. The CRM may reformat web addresses and phone numbers, so those come last. */
const SELECTIVE = ['email', 'text', 'website', 'phone']
const mostFields = 3

/** A text as it was sent, and as the CRM may keep it. */
const spellingsOf = (type: string, text: string): string[] => {
  const kept = text.normalize('NFC').trim()
  return type === 'email' || type === 'website' ? [text, kept, kept.toLowerCase()] : [text, kept]
}

type Field = Track['module']['fields'][number]

/**
 * Picks up to three search fields that every row fills: most distinct values first, then by type, the naming field, the longer values. A website or
 * phone field is used only if it ranks first: the CRM may reformat its values.
 */
const selectiveFieldsOf = ({module}: Track, rows: Row[]): Field[] => {
  const ranked = module.fields.flatMap(field => {
    const rank = SELECTIVE.indexOf(field.type)
    const sent = rows.map(({payload}) => payload[field.apiName])
    if (rank < 0 || !sent.every(isText)) return []
    const length = (sent as string[]).reduce((sum, {length}) => sum + length, 0)
    return [{field, rank, isNaming: Number(field.apiName === module.namingField), distinct: new Set(sent).size, length}]
  })
  ranked.sort(
    (one, other) => other.distinct - one.distinct || one.rank - other.rank || other.isNaming - one.isNaming || other.length - one.length,
  )
  const [best, ...others] = ranked
  if (!best) return []
  const stable = others.filter(({rank}) => rank < SELECTIVE.indexOf('website'))
  return [best, ...stable.slice(0, mostFields - 1)].map(({field}) => field)
}

/** Conditions for some rows at a time: each field's values fit into one query. */
const groupValues = (fields: Field[], rows: Row[]): MadeQuery['groups'] => {
  const groups: {field: string; values: string[]}[][] = []
  if (fields.length === 0) return groups
  let values = fields.map(() => new Set<string>())
  const close = () => groups.push(fields.map(({apiName}, at) => ({field: apiName, values: [...values[at]!]})))
  for (const {payload} of rows) {
    const grown = fields.map(({apiName, type}, at) => new Set([...values[at]!, ...spellingsOf(type, String(payload[apiName]))]))
    if (grown.some(({size}) => size > valuesPerGroup)) {
      close()
      values = fields.map(({apiName, type}) => new Set(spellingsOf(type, String(payload[apiName]))))
    } else values = grown
  }
  close()
  return groups
}

/** A query takes fifty values, one of them the control's, and one with a backslash is asked in two spellings. */
const valuesPerGroup = 24

/** Null where the CRM does not let them be read. */
const readAll = async (ctx: Context, {module}: Track, rows: Row[], ids: string[]): Promise<CrmRecord[] | null> => {
  const sent = new Set(rows.flatMap(({payload}) => comparedOf(module.fields, payload).map(({apiName}) => apiName)))
  const lists = inLists([...sent], fieldsPerRead)
  const read = new Map<string, CrmRecord>()
  for (const some of inLists(ids, idsPerRead)) {
    for (const fields of lists) {
      const query = {module: module.apiName, ids: some, fields: ['Created_By', 'Created_Time', ...fields]}
      const records = await askPatiently(ctx, () => ctx.connection.readRecords(query, {signal: ctx.lease.lost}).catch(orNull))
      if (records === null) return null
      for (const record of records) read.set(record.id, {...read.get(record.id), ...record})
    }
  }
  return [...read.values()]
}

const orNull = (error: unknown) => {
  if (!(error instanceof CrmError) || error.crm.retryable || error.crm.rateLimited || error.crm.quotaSpent || isTokenRefused(error.crm))
    throw error
  return null
}

const inLists = <T>(items: T[], most: number): T[][] =>
  Array.from({length: Math.ceil(items.length / most)}, (_, n) => items.slice(n * most, (n + 1) * most))
