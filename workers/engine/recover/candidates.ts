import type {CrmRecord, MadeControl, MadeQuery} from '../../../shared/crm/crm.ts'
import {listCreated, listHows} from '../../../sql/chain-rows.ts'
import type {Context} from '../context.ts'
import {comparedOf} from '../match/compare-values.ts'
import type {CompiledFlow, ImportRow} from '../model.ts'
import {lagSecondsOf} from '../send/admission.ts'
import {readUnlessRefused, readWithRetry} from '../send/crm-retry.ts'
import type {LostCreateCandidate} from './match-lost-creates.ts'
import {findHeldElsewhere} from './record-claims.ts'

/** The interval in which the CRM may have executed creates, by this process's clock. */
export type CreateInterval = {fromMs: number; toMs: number}

/**
 * The records that a search found. `madeAtMs`: when the record was created, by this process's clock. `field`: the most selective search field;
 * null if no field suits the search.
 */
export type CandidateRecords = {
  records: {record: CrmRecord; madeAtMs: number}[]
  field: string | null
  /** Whether the search is complete: each of its queries found the control record. */
  isProven: boolean
  /** Whether there was a control record: a record that the chain created and that each query should find. */
  hasControl: boolean
}

const idsPerRead = 50
/**
 * The maximum number of fields per read, besides the creator and the creation time. The CRM returns at most 50 fields. Source:
 * zoho.com/crm/developer/docs/api/v8/get-records.html.
 */
const fieldsPerRead = 48
/** The clock tolerance of the search. The CRM returns times in whole seconds. */
const toleranceMs = 2_000

/** The tolerance for comparing creation times. It is one second longer than the search's tolerance, because the CRM cuts off fractions. */
const creationToleranceMs = 3_000

export const isWithin = ({fromMs, toMs}: CreateInterval, atMs: number) =>
  atMs >= fromMs - creationToleranceMs && atMs <= toMs + creationToleranceMs

/**
 * Finds the records that this connection's CRM user created while these creates were in flight, with the fields that the rows sent. Returns
 * null if the CRM has no search, refuses the search or the read, or finds over 2,000 records. Also null if the CRM hides the creator or the
 * creation time of a record.
 */
export const findCandidateRecords = async (
  ctx: Context,
  flow: CompiledFlow,
  rows: ImportRow[],
  window: CreateInterval,
): Promise<CandidateRecords | null> => {
  const {connection, lease} = ctx
  const fields = selectiveFieldsOf(flow, rows)
  const {crmUserId: user} = connection.connector
  const [fromMs, toMs] = [window.fromMs - toleranceMs, window.toMs + toleranceMs]
  const control = await readControl(ctx, flow, fields)
  const query = {module: flow.module.apiName, user, fromMs, toMs, groups: groupValues(fields, rows, connection.valuesPerCondition), control}
  const made = await readWithRetry(ctx, async () => (await connection.findMade?.(query, {signal: lease.lost})) ?? null)
  if (made === null || made === 'many') return null
  const read = await readAll(ctx, flow, rows, made.ids)
  if (!read?.every(isSigned)) return null
  const records = read
    .filter(record => makerOf(record) === user)
    .map(record => ({record, madeAtMs: Date.parse(String(record.Created_Time)) - made.clockOffsetMs}))
  const {isProven} = made
  const within = records.filter(({madeAtMs}) => isWithin(window, madeAtMs))
  return {records: within, field: fields[0]?.apiName ?? null, isProven, hasControl: control !== null}
}

const controlsRead = 10

/**
 * Chooses a control record among up to ten records of the chain. It is the oldest one that the connection's CRM user created and that has a
 * text in each search field. Returns null if there is none.
 */
const readControl = async (ctx: Context, {module}: CompiledFlow, fields: Field[]): Promise<MadeControl | null> => {
  const {connection, lease} = ctx
  const ids = await listCreated(ctx.db, {chain: ctx.chain, module: module.no, limit: controlsRead})
  if (ids.length === 0) return null
  const names = fields.map(({apiName}) => apiName)
  const query = {module: module.apiName, ids: [...ids], fields: ['Created_By', 'Created_Time', ...names]}
  const read = await readUnlessRefused(ctx, () => connection.readRecords(query, {signal: lease.lost}))
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

const isSigned = (record: CrmRecord) => typeof makerOf(record) === 'string' && !Number.isNaN(Date.parse(String(record.Created_Time)))

export const holdersOf = async (ctx: Context, flow: CompiledFlow, records: CandidateRecords['records']): Promise<LostCreateCandidate[]> => {
  const ids = records.map(({record: {id}}) => id)
  const hows = await listHows(ctx.db, {chain: ctx.chain, module: flow.module.no, records: ids})
  const elsewhere = await findHeldElsewhere(ctx, flow, ids)
  const made = new Set([...elsewhere, ...hows.filter(({how}) => how <= 2).map(({recordId}) => recordId)])
  const met = new Set(hows.map(({recordId}) => recordId))
  return records.map(({record, madeAtMs}) => ({record, madeAtMs, holder: made.has(record.id) ? 'made' : met.has(record.id) ? 'met' : null}))
}

/**
 * The field types by which the search can narrow its query, the most selective first. Web addresses and phone numbers come last, because the
 * CRM may reformat them.
 */
const SELECTIVE = ['email', 'text', 'website', 'phone']
const mostFields = 3

/** Returns the text as it was sent, and the forms in which the CRM may store it. */
const spellingsOf = (type: string, text: string): string[] => {
  const kept = text.normalize('NFC').trim()
  return type === 'email' || type === 'website' ? [text, kept, kept.toLowerCase()] : [text, kept]
}

type Field = CompiledFlow['module']['fields'][number]

/**
 * Picks up to three search fields that every row fills with text, those with the most distinct values first. Ties are decided by the order of
 * `SELECTIVE`, then by the naming field, then by longer values. A website or phone field is used only as the first field, because the CRM may
 * reformat its values.
 */
const selectiveFieldsOf = ({module}: CompiledFlow, rows: ImportRow[]): Field[] => {
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

/** Splits the values of the rows into groups. The values of one field in a group fit into one condition of a query. */
const groupValues = (fields: Field[], rows: ImportRow[], valuesPerCondition: number): MadeQuery['groups'] => {
  const groups: {field: string; values: string[]}[][] = []
  if (fields.length === 0) return groups
  // Leaves room for the value of the control record. Halves the limit, because a value with a backslash is sent in two spellings.
  const valuesPerGroup = Math.floor((valuesPerCondition - 2) / 2)
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

/** Reads records by id, with every comparable field that a row sent. Returns null if the CRM refuses the read. */
const readAll = async (ctx: Context, {module}: CompiledFlow, rows: ImportRow[], ids: string[]): Promise<CrmRecord[] | null> => {
  const sent = new Set(rows.flatMap(({payload}) => comparedOf(module.fields, payload).map(({apiName}) => apiName)))
  const lists = inLists([...sent], fieldsPerRead)
  const read = new Map<string, CrmRecord>()
  for (const some of inLists(ids, idsPerRead)) {
    for (const fields of lists) {
      const query = {module: module.apiName, ids: some, fields: ['Created_By', 'Created_Time', ...fields]}
      const records = await readUnlessRefused(ctx, () => ctx.connection.readRecords(query, {signal: ctx.lease.lost}))
      if (records === null) return null
      for (const record of records) read.set(record.id, {...read.get(record.id), ...record})
    }
  }
  return [...read.values()]
}

const inLists = <T>(items: T[], most: number): T[][] =>
  Array.from({length: Math.ceil(items.length / most)}, (_, n) => items.slice(n * most, (n + 1) * most))
