import type {RecordAnswer} from '../../shared/crm/crm.ts'
import {asObject, type CrmProblem, sayProblem} from '../../shared/crm/error.ts'
import type {AdmittedUnit} from '../../shared/writes/admit.ts'
import type {End} from '../../shared/writes/settle.ts'
import type {ItemResult} from '../../sql/writes.ts'
import {type Answered, refusedUnsent} from './send.ts'

/** What one answer means for the rows of its parent. `deleted`: how many rows it held. */
export const judgeParent = ({at, parent, rows}: AdmittedUnit, answer: RecordAnswer, deleted: number): Answered => {
  if (answer.ok)
    return every(rows, {outcome: 'updated', recordId: parent!}, {at, result: {ok: true, deleted, added: rows.length}, again: false})
  if (!answer.sent) return unsent(rows, refusedUnsent(at, answer.refusal))
  const {crm} = answer
  const failed: ItemResult = {at, result: {ok: false, error: sayProblem(crm), crm}, again: crm.rateLimited === true}
  if (crm.unanswered) {
    const said = {message: sayProblem(crm), ...(crm.code !== null && {code: crm.code})}
    return every(rows, {outcome: 'unanswered', ...said, mayGoOn: mayGoOn(crm)}, failed)
  }
  const code = crm.code ?? `HTTP_${crm.status}`
  const message = sayRefused(
    crm,
    rows.map(({key}) => key),
    deleted,
  )
  return {ends: rows.map(({key}) => ({outcome: 'refused', code, message: message(key)})), results: [failed]}
}

/** By row key. The CRM refuses a parent for one of its rows, and the others are told which. `deleted`: how many rows it held. */
export const sayRefused = (crm: CrmProblem, keys: string[], deleted: number) => {
  const culprit = keys[placeOf(crm) - deleted]
  return (key: string) => (culprit && culprit !== key ? `Row ${culprit} of the same parent: ${sayProblem(crm)}` : sayProblem(crm))
}

/**
 * No status came at all, or a gateway's that has given up waiting: the rows may be replaced at any moment yet. Any other answer, an error of
 * the CRM's own too, says that it is through with the call.
 */
export const mayGoOn = ({status}: CrmProblem) => status === null || status === 504

/** Nothing was asked of the CRM. Without a result the parent may be tried once more. */
export const unsent = (rows: AdmittedUnit['rows'], result?: ItemResult): Answered => every(rows, {outcome: 'unsent'}, result)

const every = (rows: AdmittedUnit['rows'], end: End, result?: ItemResult): Answered => ({
  ends: rows.map(() => end),
  results: result ? [result] : [],
})

/** Which row of those sent the CRM names, the ones to be removed counted; -1 where it names none. */
const placeOf = ({details}: CrmProblem) => {
  const {json_path, errors} = asObject(details) ?? {}
  const [first] = Array.isArray(errors) ? errors : []
  const path = json_path ?? asObject(asObject(first)?.details)?.json_path
  const [, row] = /^\$\.data\[\d+\]\.\w+\[(\d+)\]/.exec(String(path)) ?? []
  return row === undefined ? -1 : Number(row)
}
