import type {RecordAnswer} from '../../shared/crm/crm.ts'
import {sayProblem} from '../../shared/crm/error.ts'
import {HOW} from '../../sql/chain-rows.ts'
import {mayGoOn, sayRefused} from '../writes/row-verdict.ts'
import {KINDS, type Track} from './row.ts'
import type {Settled} from './settler.ts'
import {countSilence, enter, maySendAgain, type Next, type Op} from './verdict.ts'

/** One record and the rows it is to have. */
export type Unit = {
  /** Its place among those of the same request. */
  at: number
  record: string
  /** The row key its rows are counted under. */
  parent: string
  keys: string[]
  /** The rows it holds, as they were read at this time (monotonic ms). */
  deletes: string[]
  readAt: number
  /** How long after that they may still be taken for what is there, in ms. */
  freshMs: number
  /** Nobody heard the end of the last call, which may change its rows yet. */
  isLost: boolean
}

export const isFresh = ({readAt, freshMs}: Unit) => performance.now() - readAt < freshMs

type Sent = {track: Track; settled: Settled; patienceMs: number}

/** What the answer of its record means for a row: written, refused with the others, or not known and to be written again. */
export const judgeReplaced = ({track, settled, patienceMs}: Sent, {row, unit}: Op, answer: Exclude<RecordAnswer, {sent: false}>): Next => {
  const {record, keys, deletes} = unit!
  const name = {module: track.module.no, key: row.key}
  row.attempt++
  const {attempt} = row
  if (!answer.ok && answer.crm.unanswered) {
    countSilence(row)
    unit!.isLost = mayGoOn(answer.crm)
    const {code} = answer.crm
    enter({track, settled}, row, 'unanswered', {attempt, recordId: record, code, message: sayProblem(answer.crm)})
    row.open = true
    const ended = !maySendAgain(row, patienceMs)
    settled.opened.push({...name, flow: track.no, number: row.number, kind: KINDS.replace, target: record, witness: false, attempt, ended})
    return ended ? 'end' : 'again'
  }
  if (answer.ok) {
    enter({track, settled}, row, 'updated', {attempt, recordId: record})
    settled.kept.push({...name, recordId: record, how: HOW.updated, matchKey: null})
  } else {
    const {crm} = answer
    const [code, message] = [crm.code ?? `HTTP_${crm.status}`, sayRefused(crm, keys, deletes.length)(row.key)]
    enter({track, settled}, row, 'refused', {attempt, recordId: record, code, message})
    if (row.silences === 0) settled.released.push(name)
  }
  if (row.open) settled.closed.push(name)
  row.open = false
  return 'end'
}
