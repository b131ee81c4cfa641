import type {RecordAnswer} from '../../../shared/crm/crm.ts'
import {describeProblem} from '../../../shared/crm/error.ts'
import {markWritten} from '../edits/mark-written.ts'
import type {CompiledFlow} from '../model.ts'
import type {LateUpdates} from '../recover/late-updates.ts'
import {countEmptyLinks, logOutcome} from '../settle/log-entries.ts'
import {addUnansweredNote, sayRefusal} from '../settle/refusal-words.ts'
import type {SettlementParts} from '../settle/settler.ts'
import {admissionOf, countUnanswered, maySendAgain, type NextStep, type Op} from '../settle/verdict.ts'
import {noteWritten} from '../verify/written-rows.ts'

type PatchBatch = {flow: CompiledFlow; settled: SettlementParts; patienceMs: number; lateUpdates: Pick<LateUpdates, 'add'>}

/**
 * Settles the answer to a patch. An unanswered patch is sent again unchanged within the limits of `maySendAgain`, because a repeated patch
 * has no further effect.
 */
export const judgePatch = (
  {flow, settled, patienceMs, lateUpdates}: PatchBatch,
  {row, target}: Op,
  answer: Exclude<RecordAnswer, {sent: false}>,
): NextStep => {
  row.attempt++
  const {attempt} = row
  const name = {module: flow.module.no, key: row.key}
  if (answer.ok) {
    countEmptyLinks(settled, flow, row)
    logOutcome({flow, settled}, row, 'updated', {attempt, recordId: answer.recordId, message: row.remarks?.join('. ') ?? null})
    markWritten({flow, settled}, row, answer.recordId)
    noteWritten({flow, settled}, row, {recordId: answer.recordId, writtenAt: answer.modifiedAt})
    settled.patched.push({
      ...name,
      filled: Object.keys({...row.confirmed, ...row.payload}),
      isWhole: !row.emptyLinks?.length,
      writtenAt: answer.modifiedAt ?? null,
    })
    return 'end'
  }
  const {crm} = answer
  if (crm.unanswered) {
    countUnanswered(row)
    lateUpdates.add(target!, row.key)
    markWritten({flow, settled}, row, target!, false)
    noteWritten({flow, settled}, row, {recordId: target!, isSure: false})
    logOutcome({flow, settled}, row, 'unanswered', {
      attempt,
      recordId: target,
      code: crm.code,
      message: `The patch was not answered: ${describeProblem(crm)}`,
    })
    if (maySendAgain(row, patienceMs)) return 'again'
    // A new owner may send the row again, so the pass counts the row's empty links.
    row.isPatchOpen = true
    return 'end'
  }
  countEmptyLinks(settled, flow, row)
  const code = crm.code ?? `HTTP_${crm.status}`
  const message = addUnansweredNote(`The patch was refused: ${sayRefusal(crm)}`, row.unansweredSends > 0)
  logOutcome({flow, settled}, row, 'refused', {attempt, recordId: target, code, message})
  if (row.isMetered && row.unansweredSends === 0) settled.released.push(admissionOf(flow, row))
  return 'end'
}
