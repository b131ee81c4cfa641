import type {RecordAnswer} from '../../../shared/crm/crm.ts'
import {describeProblem} from '../../../shared/crm/error.ts'
import type {CompiledFlow} from '../model.ts'
import {logOutcome} from '../settle/log-entries.ts'
import {sayRefusal} from '../settle/refusal-words.ts'
import type {SettlementParts} from '../settle/settler.ts'
import {countUnanswered, maySendAgain, type NextStep, type Op} from '../settle/verdict.ts'

type TagBatch = {flow: CompiledFlow; settled: SettlementParts; patienceMs: number}

/**
 * Settles the answer to a tag call. The outcome of the row's own write does not change. An unanswered call may be repeated, because adding a
 * tag twice changes nothing.
 */
export const judgeTag = (
  {flow, settled, patienceMs}: TagBatch,
  {row, target}: Op,
  answer: Exclude<RecordAnswer, {sent: false}>,
): NextStep => {
  row.attempt++
  const {attempt} = row
  const entry = {attempt, recordId: target}
  if (answer.ok) {
    logOutcome({flow, settled}, row, 'updated', entry)
    settled.tagged.push({module: flow.module.no, key: row.key, writtenAt: answer.modifiedAt ?? null})
    return 'end'
  }
  const {crm} = answer
  if (crm.unanswered) {
    countUnanswered(row)
    logOutcome({flow, settled}, row, 'unanswered', {...entry, code: crm.code, message: `The tags may be missing: ${describeProblem(crm)}`})
    return maySendAgain(row, patienceMs) ? 'again' : 'end'
  }
  const code = crm.code ?? `HTTP_${crm.status}`
  logOutcome({flow, settled}, row, 'refused', {...entry, code, message: `The tags were not added: ${sayRefusal(crm)}`})
  return 'end'
}
