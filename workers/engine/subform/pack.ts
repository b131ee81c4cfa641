import {settleAll} from '../../../shared/concurrency/settle-all.ts'
import {CrmError} from '../../../shared/crm/crm.ts'
import {elementsAtOnce} from '../../../shared/crm/subforms.ts'
import {holdParents} from '../../../sql/replacements.ts'
import {noParent, sayUnread, tooMany} from '../../writes/row-pack.ts'
import type {Context} from '../context.ts'
import {findStaleGroups} from '../sealed-plan/describe-groups.ts'
import {readWithRetry} from '../send/crm-retry.ts'
import {isCallRefused} from '../send/request-refusal.ts'
import type {SubformGroup} from './read-groups.ts'
import type {CompiledSubformFlow} from './record-order.ts'
import type {EndReason} from './subform-group.ts'
import type {ReplaceUnit} from './subform-verdict.ts'

export type ParentedGroup = SubformGroup & {parent: NonNullable<SubformGroup['parent']>}

export type ReadyPack = {
  units: Map<ParentedGroup, ReplaceUnit>
  /** Groups that cannot be written and end without being sent. */
  over: {group: ParentedGroup; why: EndReason}[]
  /** The wait in ms before the groups whose records other holders reserved are tried again. Null: the remaining groups are tried without a wait. */
  waitMs: number | null
}

/** The CRM's limit on records in one request. Source: zoho.com/crm/developer/docs/api/v8/update-records.html. */
const recordsAtOnce = 100
/** The limit on concurrent reads of records for one request. The request waits until all its reads have ended. */
export const readsAtOnce = 30
/**
 * For how many ms rows that were read may be used. Older rows may have changed and are read again. The first number is multiplied by the
 * round, up to the second number.
 */
const [freshMs, longestFreshMs] = [5_000, 30_000]
const heldElsewhereMs = 1_000

/** Returns how many seconds a record is reserved for the run: to be read, queued, written and settled. */
export const holdSecondsOf = ({config}: Pick<Context, 'config'>) => 2 * config.CRM_TIMEOUT_SECONDS + 60

export const holderOf = ({run, lease}: Pick<Context, 'run' | 'lease'>) => ({run: run.no, fence: lease.fence})

/** Returns the first groups that fit into one request, at least one. `reads`: the maximum number of records whose rows must be read. */
export const selectFitting = (flow: CompiledSubformFlow, groups: ParentedGroup[], reads = readsAtOnce): ParentedGroup[] => {
  let [rows, read] = [0, 0]
  const past = groups.findIndex((group, at) => {
    rows += group.rows.length
    if (holdsRows(flow, group)) read++
    return at > 0 && (at === recordsAtOnce || rows > elementsAtOnce || read > reads)
  })
  return past < 0 ? groups : groups.slice(0, past)
}

/**
 * Whether the record may have subform rows. A record that this run created has none, unless creates include rows of this flow, or rows of
 * the group were sent before.
 */
const holdsRows = ({subform}: CompiledSubformFlow, {parent, rows}: ParentedGroup) =>
  !parent.isMade || Boolean(subform.nested) || rows.some(({open}) => open)

/**
 * Reserves the records of as many groups as fit into one request, and reads the subform rows of these records. Until the release or expiry of a
 * reservation, no other run of this deployment replaces the rows of the record. Compares reserved groups with the sealed plan, because the records
 * may have changed while the run waited for them. `round`: 1 plus the number of consecutive rounds without a result. A later round reserves fewer
 * records whose rows must be read. `fields`: the row fields to read.
 */
export const gatherPack = async (
  ctx: Context,
  flow: CompiledSubformFlow,
  groups: ParentedGroup[],
  {round, fields}: {round: number; fields: string[]},
): Promise<ReadyPack> => {
  const chosen = selectFitting(flow, groups, Math.max(1, Math.floor(readsAtOnce / round)))
  const parents = chosen.map(({parent}) => parent.recordId)
  const holds = await holdParents(ctx.db, ctx.connection.connector, {holder: holderOf(ctx), parents, seconds: holdSecondsOf(ctx)})
  const free = new Set(holds.flatMap(({parent, isHeld}) => (isHeld ? [parent] : [])))
  const held = chosen.filter(({parent}) => free.has(parent.recordId))
  const read = await settleAll(
    held.map(group => readReplaceUnit(ctx, flow, group, {fields, freshMs: Math.min(longestFreshMs, freshMs * round)})),
  )
  const over: ReadyPack['over'] = await findStaleGroups(ctx, flow, held)
  const stale = new Set(over.map(({group}) => group))
  const units = new Map<ParentedGroup, ReplaceUnit>()
  let elements = 0
  for (const [at, unit] of read.entries()) {
    const group = held[at]!
    if (stale.has(group)) continue
    if ('code' in unit) over.push({group, why: unit})
    else if (elements + unit.deletes.length + unit.keys.length <= elementsAtOnce) {
      elements += unit.deletes.length + unit.keys.length
      units.set(group, {...unit, at: units.size})
    }
  }
  const waits = holds.flatMap(({isHeld, leftMs}) => (isHeld ? [] : [leftMs ?? heldElsewhereMs]))
  return {units, over, waitMs: units.size + over.length > 0 || waits.length === 0 ? null : Math.min(...waits)}
}

const readReplaceUnit = async (
  ctx: Context,
  flow: CompiledSubformFlow,
  group: ParentedGroup,
  {fields, freshMs}: {fields: string[]; freshMs: number},
): Promise<ReplaceUnit | EndReason> => {
  const {parent, rows} = group
  const readAt = performance.now()
  const held = holdsRows(flow, group) ? await readHeld(ctx, flow, parent.recordId, fields) : []
  if (!Array.isArray(held)) return held
  if (held.length + rows.length > elementsAtOnce) return failed(tooMany(held.length, rows.length))
  return {
    at: 0,
    record: parent.recordId,
    parent: `${flow.subform.link.flow.id}.${parent.number}`,
    readAt,
    freshMs,
    isLost: false,
    held,
    deletes: held.map(({id}) => id),
    keys: rows.map(({key}) => key),
  }
}

const failed = ({code, error}: {code: string; error: string}): EndReason => ({outcome: 'failed', code, message: error})

/** Returns the subform rows of the record, or how the group ends if the CRM refuses this record permanently or does not have it. */
const readHeld = async (ctx: Context, flow: CompiledSubformFlow, record: string, fields: string[]) => {
  const read = await readParent(ctx, flow, record, fields)
  if (read instanceof CrmError) return failed({code: read.crm.code ?? `HTTP_${read.crm.status}`, error: sayUnread(read)})
  return read?.rows ?? failed(noParent)
}

/**
 * Reads the record with its subform rows; null if it does not exist. Returns the error if the CRM refuses this record permanently, or no longer
 * shows the subform field. `readWithRetry` handles all other failures.
 */
export const readParent = (ctx: Context, {module, subform}: CompiledSubformFlow, record: string, fields: string[]) => {
  const place = {field: subform.field, child: module.apiName, fields}
  return readWithRetry(ctx, () =>
    ctx.connection.readRows(subform.module, record, place, {signal: ctx.lease.lost}).catch((error: unknown) => {
      if (error instanceof CrmError && !error.crm.retryable && !error.crm.quotaSpent && !isCallRefused(error.crm)) return error
      throw error
    }),
  )
}
