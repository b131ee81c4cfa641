import {CrmError} from '../../shared/crm/crm.ts'
import {elementsAtOnce} from '../../shared/crm/subforms.ts'
import {holdParents} from '../../sql/replacements.ts'
import {noParent, sayUnread, tooMany} from '../writes/row-pack.ts'
import type {Context} from './context.ts'
import type {Why} from './family.ts'
import {allOf} from './match.ts'
import {askPatiently} from './patience.ts'
import {isCallRefused} from './request-refusal.ts'
import type {Family} from './subform-families.ts'
import type {SubformTrack} from './subform-order.ts'
import type {Unit} from './subform-verdict.ts'

/** A family whose rows are to be written, so it has a record. */
export type Kept = Family & {parent: NonNullable<Family['parent']>}

export type Gathered = {
  /** What goes out in one request. */
  units: Map<Kept, Unit>
  /** Families that end unsent. */
  over: {family: Kept; why: Why}[]
  /** How long to wait before the others are tried again; null where nothing keeps them but the room of this request. */
  waitMs: number | null
}

/** The CRM takes so many records in one request. Source: wire reference 5.4. */
const recordsAtOnce = 100
/** Reads under way together; a request waits for all of its own. */
const readsAtOnce = 30
/** What was read longer ago may have changed since: it is read again. Where that comes to nothing, each further round may take as long again. */
const [freshMs, longestFreshMs] = [5_000, 30_000]
const heldElsewhereMs = 1_000

/** How long a record is the run's alone: to be read, to wait in line, to be written and settled. */
export const holdSecondsOf = ({config}: Pick<Context, 'config'>) => 2 * config.CRM_TIMEOUT_SECONDS + 60

export const holderOf = ({run, lease}: Pick<Context, 'run' | 'lease'>) => ({run: run.no, fence: lease.fence})

/** As many of these as one request takes, in their order. */
export const fitting = (families: Kept[], reads = readsAtOnce): Kept[] => {
  let [rows, read] = [0, 0]
  const past = families.findIndex((family, at) => {
    rows += family.rows.length
    if (holdsRows(family)) read++
    return at > 0 && (at === recordsAtOnce || rows > elementsAtOnce || read > reads)
  })
  return past < 0 ? families : families.slice(0, past)
}

/** One this run made holds none, unless rows of it were sent before: then they may be there. */
const holdsRows = ({parent, rows}: Kept) => !parent.isMade || rows.some(({open}) => open)

/**
 * Holds and reads what the records have, as far as one request takes them. Nobody else of ours replaces their rows until they are let go,
 * whichever run it is of. `round`: how often that came to nothing.
 */
export const gather = async (ctx: Context, track: SubformTrack, families: Kept[], round: number): Promise<Gathered> => {
  const chosen = fitting(families, Math.max(1, Math.floor(readsAtOnce / round)))
  const parents = chosen.map(({parent}) => parent.recordId)
  const holds = await holdParents(ctx.db, ctx.connection.connector, {holder: holderOf(ctx), parents, seconds: holdSecondsOf(ctx)})
  const free = new Set(holds.flatMap(({parent, isHeld}) => (isHeld ? [parent] : [])))
  const held = chosen.filter(({parent}) => free.has(parent.recordId))
  const read = await allOf(held.map(family => readUnit(ctx, track, family, Math.min(longestFreshMs, freshMs * round))))
  const units = new Map<Kept, Unit>()
  const over: Gathered['over'] = []
  let elements = 0
  for (const [at, unit] of read.entries()) {
    const family = held[at]!
    if ('code' in unit) over.push({family, why: unit})
    else if (elements + unit.deletes.length + unit.keys.length <= elementsAtOnce) {
      elements += unit.deletes.length + unit.keys.length
      units.set(family, {...unit, at: units.size})
    }
  }
  const waits = holds.flatMap(({isHeld, leftMs}) => (isHeld ? [] : [leftMs ?? heldElsewhereMs]))
  return {units, over, waitMs: units.size + over.length > 0 || waits.length === 0 ? null : Math.min(...waits)}
}

const readUnit = async (ctx: Context, track: SubformTrack, family: Kept, freshMs: number): Promise<Unit | Why> => {
  const {parent, rows} = family
  const readAt = performance.now()
  const deletes = holdsRows(family) ? await readIds(ctx, track, parent.recordId) : []
  if (!Array.isArray(deletes)) return deletes
  if (deletes.length + rows.length > elementsAtOnce) return failed(tooMany(deletes.length, rows.length))
  return {
    ...{at: 0, record: parent.recordId, parent: `${track.subform.link.flow.id}.${parent.number}`, deletes, readAt, freshMs, isLost: false},
    keys: rows.map(({key}) => key),
  }
}

const failed = ({code, error}: {code: string; error: string}): Why => ({outcome: 'failed', code, message: error})

/** What cannot be read of one record is that record's; what may be read later is asked again. */
const readIds = async (ctx: Context, {module, subform}: SubformTrack, record: string): Promise<string[] | Why> => {
  const place = {field: subform.field, child: module.apiName}
  const read = await askPatiently(ctx, () =>
    ctx.connection.readRowIds(subform.module, record, place, {signal: ctx.lease.lost}).catch(error => {
      if (error instanceof CrmError && !error.crm.retryable && !error.crm.quotaSpent && !isCallRefused(error.crm)) return error
      throw error
    }),
  )
  if (read instanceof CrmError) return failed({code: read.crm.code ?? `HTTP_${read.crm.status}`, error: sayUnread(read.crm)})
  return read ?? failed(noParent)
}
