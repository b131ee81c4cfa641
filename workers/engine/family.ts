import {elementsAtOnce} from '../../shared/crm/subforms.ts'
import type {Asking} from '../../sql/questions.ts'
import type {Outcome} from '../../sql/run-log.ts'
import {type Failure, isRow, type Row} from './row.ts'

/** One row of the file in its family. `isIn`: it is among the rows the run was given. */
export type Member = {
  composed: Row | Failure
  isIn: boolean
  /** The run has said how it ended. */
  isOver: boolean
  /** The record whose row it is since an earlier run of the chain. */
  theirs: string | null
}

/** How a row ends that is not sent. */
export type End = {
  row: Pick<Row, 'key' | 'number' | 'counted' | 'attempt' | 'notes'>
  outcome: Extract<Outcome, 'failed' | 'skipped' | 'inherited' | 'unanswered'>
  recordId: string | null
  code: string | null
  message: string | null
  target: string | null
  asks?: Asking | undefined
}

export type Judged = {
  /** To be written, all of them or none. */
  rows: Row[]
  ends: End[]
  /** Rows the flow's filter keeps back. */
  filtered: number
}

/**
 * What becomes of the rows of one record. They replace what it holds, so they are written all together or not at all: where one of them
 * fails, waits for a person or is not this run's, none is. Rows that the filter or a rule leaves out on purpose are no rows of the record.
 * A record whose every row was written by an earlier run of the chain is left alone; where one was not, all of them are written again.
 */
export const judgeFamily = (record: string, members: Member[]): Judged => {
  const meant = members.filter(({composed}) => isRow(composed) || isInTheWay(composed))
  if (meant.length > 0 && meant.every(({theirs}) => theirs === record)) return leaveAlone(record, members)
  const rows = meant.map(({composed}) => composed).filter(one => isRow(one))
  const why = torn(meant) ?? broken(meant)
  const judged = judgeEach(members)
  const open = members.some(({composed, isOver}) => isRow(composed) && !isOver)
  if (!why) return {...judged, rows: open ? rows : []}
  const ends = members.flatMap(({composed, isIn, isOver}) => (isRow(composed) && isIn && !isOver ? [endOf(composed, why)] : []))
  return {...judged, rows: [], ends: [...judged.ends, ...ends]}
}

/** Of rows that belong to no record, or to one that has more than can be written: each for itself. */
export const judgeEach = (members: Member[]): Judged => {
  const mine = members.filter(({isIn}) => isIn)
  const ends = mine.flatMap(({composed, isOver}) => (isRow(composed) || composed.end === 'held' || isOver ? [] : [failureEnd(composed)]))
  return {rows: [], ends, filtered: mine.filter(({composed}) => !isRow(composed) && composed.end === 'held').length}
}

/** Of which there are more than one request takes, and these are some. */
export const judgeTooMany = (members: Member[]): Judged => {
  const judged = judgeEach(members)
  const ends = members.flatMap(({composed, isIn, isOver}) => (isRow(composed) && isIn && !isOver ? [endOf(composed, tooMany)] : []))
  return {...judged, ends: [...judged.ends, ...ends]}
}

/** A row left out on purpose is in nobody's way; one that failed, or that a person is to be asked about, is yet to be written. */
const isInTheWay = ({end, asks}: Failure) => end === undefined || asks !== undefined

const leaveAlone = (record: string, members: Member[]): Judged => {
  const [theirs, others] = [members.filter(one => one.theirs === record), members.filter(one => one.theirs !== record)]
  const ends = theirs.flatMap(({composed, isOver, isIn}): End[] =>
    isOver || !isIn ? [] : [{...bare(composed), outcome: 'inherited', recordId: record, code: null, message: null, target: null}],
  )
  const judged = judgeEach(others)
  return {...judged, ends: [...judged.ends, ...ends]}
}

export type Why = {outcome: 'failed' | 'skipped' | 'unanswered'; code: string; message: string}

const torn = (meant: Member[]): Why | null => {
  const beyond = meant.find(({isIn}) => !isIn)
  const message = (number: number) =>
    `Row ${number} belongs to the same record and is not among the rows of this run: they are replaced together, so none of them was`
  return beyond ? {outcome: 'skipped', code: 'ROWS_APART', message: message(beyond.composed.number)} : null
}

const broken = (meant: Member[]): Why | null => {
  const first = meant.map(({composed}) => composed).find(one => !isRow(one)) as Failure | undefined
  if (!first) return null
  const why = first.asks ? 'waits for an answer' : 'failed'
  return {
    outcome: 'skipped',
    code: 'ROW_OF_SAME_PARENT',
    message: `Row ${first.number} of the same record ${why}: the record keeps the rows it has`,
  }
}

const tooMany: Why = {
  outcome: 'failed',
  code: 'BATCH_SIZE',
  message: `More than ${elementsAtOnce} rows belong to the same record, and the CRM takes ${elementsAtOnce} in one request: none was written`,
}

const endOf = (row: Row, {outcome, code, message}: Why): End => ({...bare(row), outcome, code, message, recordId: null, target: null})

/** How rows end that were to be sent and cannot be. Of what was sent before, and not answered, nobody can say that it failed. */
export const endAll = (rows: Row[], why: Why): End[] =>
  rows.map(row => endOf(row, row.attempt > 0 ? {...why, outcome: 'unanswered', message: `${SENT_BEFORE}: ${why.message}`} : why))

const SENT_BEFORE = 'The rows were sent and not answered, so they may be there; they could not be sent again'

const failureEnd = (failure: Failure): End => ({
  ...bare(failure),
  outcome: failure.end === 'skipped' ? 'skipped' : 'failed',
  ...{recordId: null, code: failure.code, message: failure.message, target: failure.target, asks: failure.asks},
})

const bare = (one: Row | Failure): Pick<End, 'row'> => {
  const {key, number, notes} = one
  const {counted, attempt} = isRow(one) ? one : {counted: null, attempt: 0}
  return {row: {key, number, counted, attempt, ...(notes && {notes})}}
}
