import type {CrmRecord, RecordAnswer} from '../../../shared/crm/crm.ts'
import {describeProblem} from '../../../shared/crm/error.ts'
import {HOW} from '../../../sql/chain-rows.ts'
import {describeRefused, mayGoOn} from '../../writes/row-verdict.ts'
import {type CompiledFlow, STEP_CODES} from '../model.ts'
import {logOutcome} from '../settle/log-entries.ts'
import {addUnansweredNote} from '../settle/refusal-words.ts'
import type {SettlementParts} from '../settle/settler.ts'
import {admissionOf, closeUnsettled, countUnanswered, maySendAgain, type NextStep, type Op} from '../settle/verdict.ts'

/**
 * One record whose subform rows a request replaces. `record`: the record's id. `keys`: the keys of the rows to write, in order; for an undo,
 * the one key of its `UndoRow`.
 */
export type ReplaceUnit = {
  /** The record's position in the request. */
  at: number
  record: string
  /** The row key of the parent, under which its rows are counted. */
  parent: string
  keys: string[]
  /** The rows that the record had at `readAt`. */
  held: CrmRecord[]
  /** The ids of the rows in `held`, which the request removes. */
  deletes: string[]
  /** The rows that an undo writes. Absent: the rows of the batch are written. */
  adds?: Record<string, unknown>[]
  /** When the rows in `held` were read, in monotonic ms. */
  readAt: number
  /** For how many ms after `readAt` the ids may be used. */
  freshMs: number
  /** Whether the last call was not answered and may still change the rows. */
  isLost: boolean
}

export const isFresh = ({readAt, freshMs}: ReplaceUnit) => performance.now() - readAt < freshMs

type ReplaceBatch = {flow: CompiledFlow; settled: SettlementParts; patienceMs: number}

/**
 * Settles one row by the answer for its record: updated, refused, or unanswered and perhaps sent again. A row that an earlier request of the
 * run wrote stays updated if this request is refused.
 */
export const judgeReplaced = (
  {flow, settled, patienceMs}: ReplaceBatch,
  {row, unit}: Op,
  answer: Exclude<RecordAnswer, {sent: false}>,
): NextStep => {
  const {record, keys, deletes} = unit!
  const name = {module: flow.module.no, key: row.key}
  row.attempt++
  const {attempt} = row
  const target = row.lostUpdate ?? record
  const entry = {...name, flow: flow.no, number: row.number, target, hasUniqueKey: false, attempt}
  if (!answer.ok && answer.crm.unanswered) {
    countUnanswered(row)
    row.lostUpdate = target
    unit!.isLost = mayGoOn(answer.crm)
    const {code} = answer.crm
    logOutcome({flow, settled}, row, 'unanswered', {attempt, recordId: record, code, message: describeProblem(answer.crm)})
    row.open = true
    const ended = !maySendAgain(row, patienceMs)
    settled.opened.push({...entry, kind: STEP_CODES.replace, ended})
    return ended ? 'end' : 'again'
  }
  if (answer.ok) {
    logOutcome({flow, settled}, row, 'updated', {attempt, recordId: record})
    settled.kept.push({...name, recordId: record, how: HOW.updated, matchKey: null, writtenAt: answer.modifiedAt})
  } else if (row.counted !== 'updated') {
    const {crm} = answer
    const [code, refusal] = [crm.code ?? `HTTP_${crm.status}`, describeRefused(crm, keys, deletes.length)(row.key)]
    logOutcome({flow, settled}, row, 'refused', {attempt, recordId: record, code, message: addUnansweredNote(refusal, row.open)})
    if (row.unansweredSends === 0 && row.isMetered !== false) settled.released.push(admissionOf(flow, row))
    // The unanswered send may have replaced the rows, so an undo compares them.
    if (row.open) {
      settled.opened.push({...entry, kind: STEP_CODES.again, ended: true})
      return 'end'
    }
  }
  closeUnsettled({flow, settled}, row, answer.ok ? record : null)
  return 'end'
}
