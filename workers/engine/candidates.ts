import {CrmError, type CrmRecord} from '../../shared/crm/crm.ts'
import {listHows} from '../../sql/chain-rows.ts'
import type {Candidate} from './allotment.ts'
import type {Context} from './context.ts'
import {comparedOf} from './equal.ts'
import {askPatiently} from './patience.ts'
import type {Row, Track} from './row.ts'

/** When the creates were under way, by this process's clock. */
export type Window = {fromMs: number; toMs: number}

/** `madeAtMs`: by this process's clock. `field`: the one the CRM was asked by, where there was one. */
export type Found = {records: {record: CrmRecord; madeAtMs: number}[]; field: string | null}

const idsPerRead = 50
/** The CRM answers 50 fields at most; two are the maker's and the moment's. Source: wire reference 5.1. */
const fieldsPerRead = 48
/** Between two clocks, one of which tells whole seconds. */
const toleranceMs = 2_000

/** As exact as the CRM tells when a record was made. */
export const isWithin = ({fromMs, toMs}: Window, atMs: number) => atMs >= fromMs - 3_000 && atMs <= toMs + 3_000

/**
 * The records our user made while these rows' creates were under way, each with what the rows sent. Null where the CRM cannot be asked, or
 * names more records than can be looked at.
 */
export const findRecords = async (ctx: Context, track: Track, rows: Row[], window: Window): Promise<Found | null> => {
  const {connection, lease} = ctx
  const {field, values} = tellingOf(track, rows)
  const {crmUserId: user} = connection.connector
  const [fromMs, toMs] = [window.fromMs - toleranceMs, window.toMs + toleranceMs]
  const query = {module: track.module.apiName, user, fromMs, toMs, field, values}
  const made = await askPatiently(ctx, async () => (await connection.findMade?.(query, {signal: lease.lost})) ?? null)
  if (made === null || made === 'many') return null
  const read = await readAll(ctx, track, rows, made.ids)
  if (!read?.every(isSigned)) return null
  const records = read
    .filter(record => makerOf(record) === user)
    .map(record => ({record, madeAtMs: Date.parse(String(record.Created_Time)) - made.clockOffsetMs}))
  return {records: records.filter(({madeAtMs}) => isWithin(window, madeAtMs)), field}
}

const makerOf = ({Created_By: maker}: CrmRecord) => (maker as {id?: unknown} | null | undefined)?.id

/** It says who made it, and when. */
const isSigned = (record: CrmRecord) => typeof makerOf(record) === 'string' && !Number.isNaN(Date.parse(String(record.Created_Time)))

/** Which rows of the chain have to do with them. */
export const holdersOf = async ({db, chain}: Context, track: Track, records: Found['records']): Promise<Candidate[]> => {
  const hows = await listHows(db, {chain, module: track.module.no, records: records.map(({record: {id}}) => id)})
  const made = new Set(hows.filter(({how}) => how <= 2).map(({recordId}) => recordId))
  const met = new Set(hows.map(({recordId}) => recordId))
  return records.map(({record, madeAtMs}) => ({
    ...{record, madeAtMs},
    holder: made.has(record.id) ? 'made' : met.has(record.id) ? 'met' : null,
  }))
}

const ASKABLE = new Set(['text', 'email', 'phone', 'website'])

/** A text as it was sent, and as the CRM may keep it. */
const spellingsOf = (type: string, text: string): string[] => {
  const kept = text.normalize('NFC').trim()
  return type === 'email' || type === 'website' ? [text, kept, kept.toLowerCase()] : [text, kept]
}

/** The text field that tells the rows apart best; one that a row leaves empty would miss its record. */
const tellingOf = ({module}: Track, rows: Row[]): {field: string | null; values: string[]} => {
  let best: {field: string | null; distinct: number; values: string[]} = {field: null, distinct: 0, values: []}
  for (const {apiName, type} of module.fields) {
    if (!ASKABLE.has(type)) continue
    const sent = rows.map(({payload}) => payload[apiName])
    if (!sent.every(value => typeof value === 'string' && value !== '')) continue
    const distinct = new Set(sent as string[])
    if (distinct.size <= best.distinct) continue
    best = {field: apiName, distinct: distinct.size, values: [...new Set([...distinct].flatMap(text => spellingsOf(type, text)))]}
  }
  return best
}

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
  if (!(error instanceof CrmError) || error.crm.retryable || error.crm.rateLimited || error.crm.quotaSpent) throw error
  return null
}

const inLists = <T>(items: T[], most: number): T[][] =>
  Array.from({length: Math.ceil(items.length / most)}, (_, n) => items.slice(n * most, (n + 1) * most))
