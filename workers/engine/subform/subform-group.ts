import {elementsAtOnce} from '../../../shared/crm/subforms.ts'
import type {NewQuestion} from '../../../sql/questions.ts'
import type {OutcomeName} from '../../../sql/run-log.ts'
import {type ImportRow, isRow, type RowFailure} from '../model.ts'

/** `isIn`: whether the row is in the row range of the run. */
export type SubformGroupMember = {
  composed: ImportRow | RowFailure
  isIn: boolean
  /** Whether the run has logged the row's final outcome. */
  isOver: boolean
  /** The record to which an earlier run of the chain wrote the row, or null. */
  inherited: string | null
  /** For a row that was nested in an unanswered create: its last attempt and its counted outcome. */
  sent?: RowFailure['sent']
}

export type MemberEnd = {
  row: Pick<ImportRow, 'key' | 'number' | 'counted' | 'attempt' | 'notes'> & Partial<Pick<ImportRow, 'step'>>
  outcome: Extract<OutcomeName, 'failed' | 'skipped' | 'inherited' | 'unanswered'>
  recordId: string | null
  code: string | null
  message: string | null
  target: string | null
  asks?: NewQuestion | undefined
}

export type GroupVerdict = {
  /** The rows to write, all of them or none. */
  rows: ImportRow[]
  ends: MemberEnd[]
  filtered: number
  unmapped: Pick<ImportRow, 'unmapped'>[]
}

/**
 * Decides what happens to the rows of one record. They replace all rows of the record, so all are written or none. None is written if one
 * row failed, waits for a user or is not in the run's row range; rows that the filter or a rule excludes are ignored. None is sent if an
 * earlier run of the chain wrote all of them, or this run has ended all of them. Otherwise all are written, even rows that were written
 * before.
 */
export const judgeGroup = (record: string, members: SubformGroupMember[]): GroupVerdict => {
  const meant = selectRecordRows(members)
  if (meant.length > 0 && meant.every(({inherited}) => inherited === record)) return keepRecordRows(record, members)
  const rows = meant.map(({composed}) => composed).filter(one => isRow(one))
  const why = findMissingRows(meant) ?? findFailedRows(meant)
  const judged = judgeEach(members)
  const open = members.some(({composed, isOver}) => isRow(composed) && !isOver)
  if (!why) return {...judged, rows: open ? rows : []}
  return {...judged, rows: [], ends: [...judged.ends, ...endAll(listOpenRows(members), why)]}
}

/** Returns the rows that the record must have, without rows that were left out on purpose. */
export const selectRecordRows = (members: SubformGroupMember[]): SubformGroupMember[] =>
  members.filter(({composed}) => isRow(composed) || blocksReplace(composed))

/** Ends the failed and skipped rows and counts the filtered ones. Writes no row. */
export const judgeEach = (members: SubformGroupMember[]): GroupVerdict => {
  const mine = members.filter(({isIn}) => isIn)
  const ends = mine.flatMap(({composed, isOver}) => (isRow(composed) || composed.end === 'held' || isOver ? [] : [failureEnd(composed)]))
  const filtered = mine.filter(({composed}) => !isRow(composed) && composed.end === 'held').length
  return {rows: [], ends, filtered, unmapped: mine.flatMap(({composed: {unmapped}}) => (unmapped ? [{unmapped}] : []))}
}

/** Judges a part of the rows of a record that has more rows than one request takes. */
export const judgeTooMany = (members: SubformGroupMember[]): GroupVerdict => {
  const judged = judgeEach(members)
  return {...judged, ends: [...judged.ends, ...endAll(listOpenRows(members), tooMany)]}
}

/** Returns the composed rows in the row range that have no final outcome yet. */
const listOpenRows = (members: SubformGroupMember[]): ImportRow[] =>
  members.flatMap(({composed, isIn, isOver}) => (isRow(composed) && isIn && !isOver ? [composed] : []))

/**
 * Whether a row that cannot be written also prevents the writing of the other rows of its record. True for a failed row and a row with a
 * question, because it is still to be written. False for a row that was excluded on purpose.
 */
const blocksReplace = ({end, question: asks}: RowFailure) => end === undefined || asks !== undefined

const keepRecordRows = (record: string, members: SubformGroupMember[]): GroupVerdict => {
  const [inherited, others] = [members.filter(one => one.inherited === record), members.filter(one => one.inherited !== record)]
  const ends = inherited.flatMap(({composed, isOver, isIn}): MemberEnd[] =>
    isOver || !isIn ? [] : [{...rowOf(composed), outcome: 'inherited', recordId: record, code: null, message: null, target: null}],
  )
  const judged = judgeEach(others)
  return {...judged, ends: [...judged.ends, ...ends]}
}

export type EndReason = {outcome: 'failed' | 'skipped' | 'unanswered'; code: string; message: string}

const findMissingRows = (meant: SubformGroupMember[]): EndReason | null => {
  const beyond = meant.find(({isIn}) => !isIn)
  const message = (number: number) =>
    `Row ${number} belongs to the same record and is outside the row range of this run. Rows of a record are replaced together, so none was written`
  return beyond ? {outcome: 'skipped', code: 'ROWS_APART', message: message(beyond.composed.number)} : null
}

const findFailedRows = (meant: SubformGroupMember[]): EndReason | null => {
  const first = meant.map(({composed}) => composed).find(one => !isRow(one)) as RowFailure | undefined
  if (!first) return null
  const why = first.question ? 'waits for an answer' : 'failed'
  return {
    outcome: 'skipped',
    code: 'ROW_OF_SAME_PARENT',
    message: `Row ${first.number} of the same record ${why}: the record keeps the rows it has`,
  }
}

const tooMany: EndReason = {
  outcome: 'failed',
  code: 'BATCH_SIZE',
  message: `More than ${elementsAtOnce} rows belong to the same record, and the CRM takes ${elementsAtOnce} in one request: none was written`,
}

const endOf = (row: ImportRow, {outcome, code, message}: EndReason): MemberEnd => ({
  ...rowOf(row),
  outcome,
  code,
  message,
  recordId: null,
  target: null,
})

/**
 * Ends rows that cannot be sent. A row that this run sent without an answer ends as unanswered, because it may exist. A row that has ended in
 * this run, for example as updated, keeps its outcome.
 */
export const endAll = (rows: ImportRow[], why: EndReason): MemberEnd[] =>
  rows
    .filter(({open, counted}) => open || counted === null)
    .map(row => endOf(row, row.attempt > 0 ? {...why, outcome: 'unanswered', message: `${SENT_BEFORE}: ${why.message}`} : why))

const SENT_BEFORE = 'The rows were sent and not answered, so they may exist. They could not be sent again'

/** Returns how a failed row ends. A row that was sent in its parent's unanswered create is unanswered too. */
const failureEnd = (failure: RowFailure): MemberEnd => ({
  ...rowOf(failure),
  outcome: failure.sent ? 'unanswered' : failure.end === 'skipped' ? 'skipped' : 'failed',
  message: failure.sent ? `${failure.message}. ${SENT_WITH_PARENT}` : failure.message,
  recordId: null,
  code: failure.code,
  target: failure.target,
  asks: failure.question,
})

const SENT_WITH_PARENT = 'It was sent with that row in a request that the CRM did not answer, so both may exist'

const rowOf = (one: ImportRow | RowFailure): Pick<MemberEnd, 'row'> => {
  const {key, number, notes, step} = one
  const {counted, attempt} = isRow(one) ? one : (one.sent ?? {counted: null, attempt: 0})
  return {row: {key, number, counted, attempt, ...(step !== undefined && {step}), ...(notes && {notes})}}
}
