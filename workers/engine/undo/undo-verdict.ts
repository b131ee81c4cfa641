import type {RecordAnswer} from '../../../shared/crm/crm.ts'
import {isGone} from '../../../shared/crm/deletes.ts'
import {describeProblem, isModified} from '../../../shared/crm/error.ts'
import {HOW} from '../../../sql/chain-rows.ts'
import {deletedAt, keptEditsAt, keptRowsAt, type OutcomeName} from '../../../sql/run-log.ts'
import type {CompiledFlow, ImportRow} from '../model.ts'
import type {LateUpdates} from '../recover/late-updates.ts'
import {type LogDetails, logEntryOf, logOutcome} from '../settle/log-entries.ts'
import {sayRefusal} from '../settle/refusal-words.ts'
import type {SettlementParts} from '../settle/settler.ts'
import {countUnanswered, maySendAgain, type NextStep, type Op} from '../settle/verdict.ts'
import type {KeptField} from './decide-undo.ts'
import type {UndoRecord} from './undo-source.ts'

/**
 * A record to undo, as the row of a batch. `no`: its position in the undo. `conflicts`: how often the CRM refused the restore because a
 * record of the batch changed. `creator`: the chain and module under which an earlier run may have created the record; null if that chain
 * did not write the record, or the record was changed since the chain's last write.
 */
export type UndoRow = ImportRow & {
  no: number
  undone: UndoRecord
  kept: KeptField[]
  conflicts?: number
  creator?: {chain: number; module: number} | null
}

/**
 * A restore that the CRM refuses this many times, each time because the record changed, ends as refused. Until then, the record is read and
 * decided again.
 */
const mostConflicts = 10

type UndoBatch = {flow: CompiledFlow; settled: SettlementParts; patienceMs: number; lateUpdates: Pick<LateUpdates, 'add'>}

/**
 * Settles the answer to a write of an undo. The record is read and decided again if the write was not answered, or if the record of a delete is
 * gone. The same applies if the CRM refused a restore because the record changed. The same applies if the CRM refused to restore a deleted record
 * after an unanswered restore.
 */
export const judgeUndo = (
  {settled, patienceMs, lateUpdates}: UndoBatch,
  {row, target}: Op,
  answer: Exclude<RecordAnswer, {sent: false}>,
): NextStep => {
  const undo = row as UndoRow
  row.attempt++
  if (answer.ok) {
    logDone(settled, undo, undo.undone.effect === 'delete' ? 'DELETED' : 'RESTORED')
    if (undo.creator && answer.modifiedAt) keepWrittenAt(settled, undo, answer.modifiedAt)
    if (undo.undone.effect === 'undelete') keepReturned(settled, undo, answer.modifiedAt)
    return 'end'
  }
  const {crm} = answer
  if (crm.unanswered) {
    countUnanswered(row)
    if (target !== null && undo.undone.effect !== 'undelete') lateUpdates.add(target, row.key)
    markRestored(settled, undo, false)
    logUndone(settled, undo, 'unanswered', {code: crm.code, message: describeProblem(crm)})
    return maySendAgain(row, patienceMs) ? 'again' : 'end'
  }
  if (isModified(crm) && (undo.conflicts = (undo.conflicts ?? 0) + 1) < mostConflicts) return 'again'
  const {effect, recordId} = undo.undone
  // An unanswered restore may have taken effect after the read that found no record.
  const isDone = effect === 'undelete' ? row.unansweredSends > 0 : effect === 'delete' && isGone(crm, recordId)
  if (isDone && row.unansweredSends < 2) {
    row.unansweredSends++
    return 'again'
  }
  logUndone(settled, undo, 'refused', {code: crm.code ?? `HTTP_${crm.status}`, message: sayRefusal(crm)})
  return 'end'
}

/** Logs that the record was undone, with the fields that were kept. After a restore, the restored fields get their older marks. */
export const logDone = (
  settled: SettlementParts,
  undo: UndoRow,
  code: 'RESTORED' | 'DELETED',
  outcome: 'updated' | 'planned' = 'updated',
) => {
  logUndone(settled, undo, outcome, {code, message: code === 'DELETED' ? 'The record was deleted' : 'The earlier values were restored'})
  if (code === 'DELETED') for (const {module} of undo.undone.rows) add(settled.counts, deletedAt(module), 1)
  if (outcome !== 'planned') markRestored(settled, undo, true)
}

/** Adds the older marks of the restored fields to the settlement. `isSure`: false if the restore got no answer. */
const markRestored = (settled: SettlementParts, {key, marks, undone: {flow, recordId}}: UndoRow, isSure: boolean) => {
  if (marks) settled.marked.push({key, moduleNo: flow.module.no, module: flow.module.apiName, recordId, marks, isSure})
}

/** Returns the older marks of the restored fields. Null: the undo restores no fields of the record, or its flow stores no marks. */
export const packRestoredMarks = ({undone: {flow, effect, sent, marks: older}, kept}: UndoRow): Buffer | null => {
  if (effect !== 'restore' || !flow.marks) return null
  const fields = Object.keys(sent).filter(name => !kept.some(({field}) => field === name))
  return flow.marks.restore(fields, Buffer.from(older ?? '', 'base64'))
}

/**
 * Stores the time at which the undo changed a record that an earlier run may have created. Without this time, an undo of that earlier run would take
 * the change for a person's edit.
 */
export const keepWrittenAt = (settled: SettlementParts, {creator, undone: {recordId}}: UndoRow, writtenAt: string) => {
  if (creator) settled.rewritten.push({...creator, recordId, writtenAt})
}

/**
 * Stores the record that returned from the recycle bin. An undo of this undo can then delete it again, if the record was not changed since.
 */
export const keepReturned = (settled: SettlementParts, {key, undone}: UndoRow, writtenAt: string | null | undefined) => {
  const {recordId, flow} = undone
  settled.kept.push({module: flow.module.no, key, recordId, how: HOW.undeleted, matchKey: null, writtenAt})
}

export const logKept = (settled: SettlementParts, undo: UndoRow, {code, message}: {code: string; message: string}) => {
  const {undone} = undo
  logUndone(settled, undo, 'skipped', {code, message})
  if (code === 'CHANGED_SINCE') for (const {module} of undone.rows) add(settled.counts, keptRowsAt(module), 1)
}

const lookForSecond = 'The CRM never answered a create of this row. Look for a second record in the CRM and delete it there'

/** Logs one entry for each row that wrote the record. Unless the outcome is unanswered or refused, logs one entry for each kept field too. */
const logUndone = (settled: SettlementParts, row: UndoRow, outcome: OutcomeName, details: LogDetails) => {
  const {undone, kept, attempt} = row
  const recordId = undone.effect === 'unknown' ? null : undone.recordId
  const isFinal = outcome !== 'unanswered' && outcome !== 'refused'
  const isTwice = undone.hasLostCreate && undone.effect !== 'unknown'
  const keepsTags = undone.flow.addsTags && undone.effect === 'restore' && (details.code === 'RESTORED' || details.code === 'UNCHANGED')
  const remarks = [...(keepsTags ? ['Tags that the run added stay'] : []), ...(isTwice ? [lookForSecond] : [])]
  const message = remarks.length > 0 ? [details.message, ...remarks].join('. ') : (details.message ?? null)
  for (const {field, ...why} of isFinal ? kept : []) {
    settled.log.push(logEntryOf(undone.flow, row, {phase: 'edit', target: field, recordId, outcome: 'skipped', ...why}))
    add(settled.counts, keptEditsAt(undone.flow.module.no), 1)
  }
  for (const one of undone.rows)
    logOutcome({flow: {no: one.flow, module: {no: one.module}}, settled}, one, outcome, {...details, message, recordId, attempt})
}

const add = (counts: Map<number, number>, index: number, change: number) => counts.set(index, (counts.get(index) ?? 0) + change)
