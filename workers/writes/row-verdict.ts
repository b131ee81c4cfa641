import type {RecordAnswer} from '../../shared/crm/crm.ts'
import {asObject, type CrmProblem, describeProblem} from '../../shared/crm/error.ts'
import type {AdmittedUnit} from '../../shared/runs/external/admit.ts'
import type {WriteEnd} from '../../shared/runs/external/settle.ts'
import type {ItemResult} from '../../sql/writes.ts'
import {refusedUnsent, type SentUnits} from './send.ts'

/** Turns the CRM's answer for a parent into one outcome per row. `deleted`: how many rows the parent had. */
export const judgeParent = ({at, parent, rows}: AdmittedUnit, answer: RecordAnswer, deleted: number): SentUnits => {
  if (answer.ok)
    return endEvery(
      rows,
      {outcome: 'updated', recordId: parent!, writtenAt: answer.modifiedAt ?? null},
      {at, result: {ok: true, deleted, added: rows.length}, again: false},
    )
  if (!answer.sent) return unsentEnds(rows, refusedUnsent(at, answer.refusal))
  const {crm} = answer
  const failed: ItemResult = {at, result: {ok: false, error: describeProblem(crm), crm}, again: crm.rateLimited === true}
  if (crm.unanswered) {
    const details = {message: describeProblem(crm), ...(crm.code !== null && {code: crm.code})}
    return endEvery(rows, {outcome: 'unanswered', ...details, mayGoOn: mayGoOn(crm)}, failed)
  }
  const code = crm.code ?? `HTTP_${crm.status}`
  const message = describeRefused(
    crm,
    rows.map(({key}) => key),
    deleted,
  )
  return {ends: rows.map(({key}) => ({outcome: 'refused', code, message: message(key)})), results: [failed]}
}

/**
 * Returns a function from a row key to the message of the row. The CRM refuses a parent because of one of its rows; the messages of the
 * other rows name that row. `deleted`: how many rows the parent had.
 */
export const describeRefused = (crm: CrmProblem, keys: string[], deleted: number) => {
  const culprit = keys[placeOf(crm) - deleted]
  return (key: string) => (culprit && culprit !== key ? `Row ${culprit} of the same parent: ${describeProblem(crm)}` : describeProblem(crm))
}

/**
 * Whether the CRM may still execute the call. True if no status arrived, or if a gateway answered for the CRM: with 504, or with 502 and no
 * code of the CRM. Any other answer means that the call has ended.
 */
export const mayGoOn = ({status, code}: CrmProblem) => status === null || status === 504 || (status === 502 && code === null)

/** Returns the ends of rows that were not sent to the CRM. Without `result`, the parent may be tried again. */
export const unsentEnds = (rows: AdmittedUnit['rows'], result?: ItemResult): SentUnits => endEvery(rows, {outcome: 'unsent'}, result)

const endEvery = (rows: AdmittedUnit['rows'], end: WriteEnd, result?: ItemResult): SentUnits => ({
  ends: rows.map(() => end),
  results: result ? [result] : [],
})

const placeOf = (crm: CrmProblem) => findRowPlace(crm)?.at ?? -1

/**
 * Finds the field and the index of the subform row that the CRM names. The index starts at 0 and includes removed rows. Returns null if the
 * CRM names none.
 */
export const findRowPlace = ({details}: CrmProblem): {field: string; at: number} | null => {
  const {json_path, errors} = asObject(details) ?? {}
  const [first] = Array.isArray(errors) ? errors : []
  const path = json_path ?? asObject(asObject(first)?.details)?.json_path
  const [, field, row] = /^\$\.data\[\d+\]\.(\w+)\[(\d+)\]/.exec(String(path)) ?? []
  return field === undefined ? null : {field, at: Number(row)}
}
