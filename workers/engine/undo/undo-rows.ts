import {setTimeout as sleep} from 'node:timers/promises'
import {settleAll} from '../../../shared/concurrency/settle-all.ts'
import {CrmError, type CrmRecord} from '../../../shared/crm/crm.ts'
import type {FieldValues} from '../../../shared/runs/undo/before-image.ts'
import {holdParents, loseParents, releaseParents} from '../../../sql/replacements.ts'
import type {Context} from '../context.ts'
import type {ComparedField} from '../match/compare-values.ts'
import {answerSecondsOf} from '../send/admission.ts'
import {assertWritable} from '../send/crm-retry.ts'
import {holderOf, holdSecondsOf, readParent} from '../subform/pack.ts'
import {type CompiledSubformFlow, isSubform} from '../subform/record-order.ts'
import {valuesOfRows} from '../subform/row-values.ts'
import type {ReplaceUnit} from '../subform/subform-verdict.ts'
import type {UndoRow} from './undo-verdict.ts'

const longestWaitMs = 1_000
/** For how many ms rows that were read may be used. */
const freshMs = 10_000

/**
 * Reserves the records whose rows are undone, so that no other run of this deployment replaces the rows. Waits until at least one is
 * reserved, and returns the rows of reserved records.
 */
export const reserveRecords = async (ctx: Context, rows: UndoRow[]): Promise<UndoRow[]> => {
  if (ctx.run.dryRun) return rows
  const parents = rows.map(({undone}) => undone.recordId)
  for (;;) {
    assertWritable(ctx)
    const holds = await holdParents(ctx.db, ctx.connection.connector, {holder: holderOf(ctx), parents, seconds: holdSecondsOf(ctx)})
    const held = new Set(holds.flatMap(({parent, isHeld}) => (isHeld ? [parent] : [])))
    if (held.size > 0) return rows.filter(({undone}) => held.has(undone.recordId))
    await sleep(Math.min(longestWaitMs, ...holds.map(({leftMs}) => leftMs ?? longestWaitMs)), undefined, {signal: ctx.signal})
  }
}

/** Releases the records, except those with a write that the CRM may still execute. If the release fails, the reservations expire. */
export const releaseRecords = async (ctx: Context, rows: UndoRow[], unanswered: ReadonlySet<UndoRow>): Promise<void> => {
  if (ctx.run.dryRun || ctx.lease.lost.aborted) return
  const holder = holderOf(ctx)
  const [lost, over] = [true, false].map(is => rows.filter(row => unanswered.has(row) === is).map(({undone}) => undone.recordId))
  await Promise.all([
    lost!.length > 0 && loseParents(ctx.db, {holder, parents: lost!, seconds: answerSecondsOf(ctx)}),
    over!.length > 0 && releaseParents(ctx.db, {holder, parents: over!}),
  ]).catch(err => ctx.log.warn({err}, 'could not release reserved records'))
}

/**
 * Reads the records with the rows of their subform field. The map has no entry for an absent record. If the rows cannot be read, the entry lacks
 * the field. Reasons: the CRM refuses the record or does not show the field, or the newest discovery lacks the subform of an external run.
 */
export const readRowRecords = async (ctx: Context, rows: UndoRow[], fields: readonly ComparedField[]): Promise<Map<string, CrmRecord>> => {
  const [{undone}] = rows as [UndoRow]
  const {flow} = undone
  const ids = rows.map(({undone: {recordId}}) => recordId)
  if (!isSubform(flow)) return new Map(ids.map(id => [id, {id}]))
  const names = [...fields.map(({apiName}) => apiName), ...stamps]
  const read = await settleAll(ids.map(async id => ({id, found: await readParent(ctx, flow, id, names)})))
  return new Map(
    read.flatMap(({id, found}) => {
      if (found instanceof CrmError) return [[id, {id}]]
      return found ? [[id, {...found.parent, [flow.subform.field]: found.rows}]] : []
    }),
  )
}

const stamps = ['Created_Time', 'Modified_Time']

type UnitInput = {at: number; held: CrmRecord[]; adds: FieldValues[]; readAt: number}

export const unitOf = ({undone: {recordId}, key}: UndoRow, {at, held, adds, readAt}: UnitInput): ReplaceUnit => ({
  at,
  record: recordId,
  parent: key,
  keys: [key],
  held,
  deletes: held.map(({id}) => id),
  adds,
  readAt,
  freshMs,
  isLost: false,
})

export const imageOfRows = (fields: readonly ComparedField[], {undone, payload}: UndoRow, record: CrmRecord) => {
  const {field} = (undone.flow as CompiledSubformFlow).subform
  return {
    before: {[field]: valuesOfRows(fields, record[field] as CrmRecord[])},
    sent: payload,
    subform: {field, rows: undone.rows.map(({key, number}) => ({key, number}))},
  }
}
