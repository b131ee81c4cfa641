import type {RecordAnswer} from '../../../shared/crm/crm.ts'
import {describeProblem} from '../../../shared/crm/error.ts'
import type {CompiledFlow} from '../model.ts'
import {logOutcome} from '../settle/log-entries.ts'
import {sayRefusal} from '../settle/refusal-words.ts'
import type {SettlementParts} from '../settle/settler.ts'
import {countUnanswered, maySendAgain, type NextStep, type Op} from '../settle/verdict.ts'

type TagBatch = {flow: CompiledFlow; settled: SettlementParts; patienceMs: number}

/**
 * Settles the answer to a tag call, for the row and the rows with the same record. The outcomes of the rows' own writes do not change. An unanswered
 * call may be repeated, because adding a tag twice changes nothing.
 */
export const judgeTag = (
  {flow, settled, patienceMs}: TagBatch,
  {row: sent, target: recordId}: Op,
  answer: Exclude<RecordAnswer, {sent: false}>,
): NextStep => {
  const rows = [sent, ...(sent.sameRecordRows ?? [])]
  for (const row of rows) row.attempt++
  if (answer.ok) {
    for (const row of rows) {
      logOutcome({flow, settled}, row, 'updated', {attempt: row.attempt, recordId})
      settled.tagged.push({module: flow.module.no, key: row.key, writtenAt: answer.modifiedAt ?? null})
    }
    return 'end'
  }
  const {crm} = answer
  const {unanswered} = crm
  const message = unanswered ? `The tags may be missing: ${describeProblem(crm)}` : `The tags were not added: ${sayRefusal(crm)}`
  const code = unanswered ? crm.code : (crm.code ?? `HTTP_${crm.status}`)
  for (const row of rows)
    logOutcome({flow, settled}, row, unanswered ? 'unanswered' : 'refused', {attempt: row.attempt, recordId, code, message})
  if (!unanswered) return 'end'
  countUnanswered(sent)
  return maySendAgain(sent, patienceMs) ? 'again' : 'end'
}
