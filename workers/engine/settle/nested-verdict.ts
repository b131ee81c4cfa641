import type {RecordAnswer} from '../../../shared/crm/crm.ts'
import {type CrmProblem, describeProblem} from '../../../shared/crm/error.ts'
import {HOW} from '../../../sql/chain-rows.ts'
import {type ImportRow, STEP_CODES} from '../model.ts'
import {logOutcome} from './log-entries.ts'
import {findRefusedRow, sayRefusal} from './refusal-words.ts'
import type {SettlementParts} from './settler.ts'
import {admissionOf, countUnanswered, type NextStep, resendSafe} from './verdict.ts'

/**
 * Settles the nested rows of a create, which share the outcome of their parent's record. `next`: the next step of the parent row. If the
 * create was refused but its row claimed a record or has a further step, the nested rows' own flow settles them.
 */
export const judgeNested = (settled: SettlementParts, parent: ImportRow, answer: Exclude<RecordAnswer, {sent: false}>, next: NextStep) => {
  const isRefused = !answer.ok && !answer.crm.unanswered
  const isLeft = isRefused && (next !== 'end' || parent.counted !== 'refused')
  for (const {flow, rows} of parent.nested ?? [])
    for (const row of rows) {
      const name = {module: flow.module.no, key: row.key}
      if ((isLeft || isRefused) && row.unansweredSends === 0) settled.released.push(admissionOf(flow, row))
      if (isLeft) continue
      row.attempt++
      const {attempt} = row
      const place = {flow: flow.no, number: row.number, target: null, hasUniqueKey: parent.hasUniqueKey, attempt}
      const entry = {...name, ...place, kind: STEP_CODES.replace}
      if (answer.ok) {
        const {recordId} = answer
        logOutcome({flow, settled}, row, 'updated', {attempt, recordId})
        settled.kept.push({...name, recordId, how: HOW.updated, matchKey: null, madeWith: parent.key, doubt: () => entry})
      } else if (isRefused) logOutcome({flow, settled}, row, 'refused', {attempt, ...sayNested(answer.crm, parent, row)})
      else {
        countUnanswered(row)
        const problem = describeProblem(answer.crm)
        const details = parent.hasUniqueKey ? resendSafe(problem) : {code: answer.crm.code, message: problem}
        logOutcome({flow, settled}, row, 'unanswered', {attempt, ...details})
        settled.opened.push(entry)
        row.open = true
        continue
      }
      if (row.open) settled.closed.push(name)
      row.open = false
    }
}

const sayNested = (crm: CrmProblem, parent: ImportRow, row: ImportRow) => {
  const culprit = findRefusedRow(crm, parent)
  const refusal = sayRefusal(crm)
  const others = culprit
    ? `Another row of this parent was refused, row ${culprit.key}: ${refusal}`
    : `Its parent, row ${parent.key}, was refused: ${refusal}`
  return {code: crm.code ?? `HTTP_${crm.status}`, message: culprit === row ? refusal : others}
}
