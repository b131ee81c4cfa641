import type {RecordAnswer} from '../../../shared/crm/crm.ts'
import {isGone} from '../../../shared/crm/deletes.ts'
import {describeProblem} from '../../../shared/crm/error.ts'
import {HOW} from '../../../sql/chain-rows.ts'
import {type CompiledFlow, type ImportRow, STEP_CODES} from '../model.ts'
import {countDeleted, logOutcome} from '../settle/log-entries.ts'
import {sayRefusal} from '../settle/refusal-words.ts'
import type {SettlementParts} from '../settle/settler.ts'
import {admissionOf, closeUnsettled, countUnanswered, maySendAgain, type NextStep, type Op, unsettledEntryOf} from '../settle/verdict.ts'

type DeleteBatch = {flow: CompiledFlow; settled: SettlementParts; patienceMs: number}

/**
 * Settles the answer to the delete of one record. An unanswered delete may be sent again, after `prepareDeletes` has read the record. If
 * the record is gone then, the unanswered delete was executed. After a first refusal because the record is gone, the row is planned again,
 * which also reads the record.
 */
export const judgeDelete = (
  {flow, settled, patienceMs}: DeleteBatch,
  {row, target}: Op,
  answer: Exclude<RecordAnswer, {sent: false}>,
): NextStep => {
  row.attempt++
  if (answer.ok) {
    logDeleted(flow, settled, row, target!)
    return 'end'
  }
  const {crm} = answer
  if (crm.unanswered) {
    countUnanswered(row)
    row.decided = {kind: 'delete', target}
    row.open = true
    logOutcome({flow, settled}, row, 'unanswered', {attempt: row.attempt, recordId: target, code: crm.code, message: describeProblem(crm)})
    settled.opened.push(unsettledEntryOf(flow, row, {kind: STEP_CODES.delete, target, attempt: row.attempt}))
    return maySendAgain(row, patienceMs) ? 'again' : 'end'
  }
  if (row.unansweredSends === 0) settled.released.push(admissionOf(flow, row))
  if (isGone(crm, target!) && !row.isGone) {
    row.isGone = true
    return 'replan'
  }
  const code = crm.code ?? `HTTP_${crm.status}`
  logOutcome({flow, settled}, row, 'refused', {attempt: row.attempt, recordId: target, code, message: sayRefusal(crm)})
  closeUnsettled({flow, settled}, row)
  return 'end'
}

/** Logs that the record was deleted and stores its id, so that no later row or retry deletes it again. */
export const logDeleted = (flow: CompiledFlow, settled: SettlementParts, row: ImportRow, recordId: string) => {
  logOutcome({flow, settled}, row, 'updated', {attempt: row.attempt, recordId, code: 'DELETED', message: 'The record was deleted'})
  countDeleted(settled, flow)
  settled.kept.push({module: flow.module.no, key: row.key, recordId, how: HOW.deleted, matchKey: row.matchKey})
  closeUnsettled({flow, settled}, row, recordId)
}
