import type {RecordAnswer} from '../../shared/crm/crm.ts'
import {sayProblem} from '../../shared/crm/error.ts'
import type {LateUpdates} from './late-updates.ts'
import type {Track} from './row.ts'
import type {Settled} from './settler.ts'
import {countSilence, enter, maySendAgain, type Next, type Op, sayRefusal} from './verdict.ts'

type Sent = {track: Track; settled: Settled; patienceMs: number; lateUpdates: Pick<LateUpdates, 'add'>}

/** What one answer means for a patch. One that was not answered is sent again as it is: done twice, it is done once. */
export const judgePatch = (
  {track, settled, patienceMs, lateUpdates}: Sent,
  {row, target}: Op,
  answer: Exclude<RecordAnswer, {sent: false}>,
): Next => {
  row.attempt++
  const {attempt} = row
  const name = {module: track.module.no, key: row.key}
  if (answer.ok) {
    enter({track, settled}, row, 'updated', {attempt, recordId: answer.recordId})
    settled.patched.push(name)
    return 'end'
  }
  const {crm} = answer
  if (crm.unanswered) {
    countSilence(row)
    lateUpdates.add(target!, row.key)
    enter({track, settled}, row, 'unanswered', {
      attempt,
      recordId: target,
      code: crm.code,
      message: `The patch was not answered: ${sayProblem(crm)}`,
    })
    return maySendAgain(row, patienceMs) ? 'again' : 'end'
  }
  const code = crm.code ?? `HTTP_${crm.status}`
  enter({track, settled}, row, 'refused', {attempt, recordId: target, code, message: `The patch was refused: ${sayRefusal(crm)}`})
  if (row.isMetered && row.silences === 0) settled.released.push(name)
  return 'end'
}
