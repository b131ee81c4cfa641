import {atPoint} from '../shared/fault-point.ts'
import {newId} from '../shared/ids.ts'
import {fireSchedule} from '../shared/jobs.ts'
import {enqueue, type Queue} from '../shared/queue.ts'
import {catchUp, type Due} from '../shared/schedules/cron.ts'
import {stop, tell} from '../shared/schedules/stop.ts'
import type {Tx} from '../sql/database.ts'
import {findUnderWay, insertFiring, insertPassed, listLeft} from '../sql/firings.ts'
import {claimDue, type Reason, type Schedule, setNextDue} from '../sql/schedules.ts'
import {rounds} from './rounds.ts'
import {endNextRunning} from './schedules/end.ts'
import type {Tools} from './tools.ts'

const everyMs = 1_000
/** One transaction each; what is left over is a second's wait. */
const perRound = 500

/** One schedule whose time has come, if there is one: its due time becomes a firing, and the next is set, or neither. */
const fireNext = async (tx: Tx, queue: Queue): Promise<boolean> => {
  const schedule = await claimDue(tx)
  if (!schedule) return false
  const due = readDue(schedule)
  if ('code' in due) {
    await stop(tx, schedule, due)
    return true
  }
  await fire(tx, queue, schedule, due)
  atPoint('in_clock')
  if (due.next === null) await stop(tx, schedule, {code: 'NEVER_AGAIN', message: 'Its times are over: none is to come'})
  else await setNextDue(tx, {id: schedule.id, nextDueAt: due.next})
  return true
}

/** A time zone may go with an update of the system's tables. */
const readDue = (schedule: Schedule): Due | Reason => {
  try {
    return catchUp(schedule, {due: schedule.nextDueAt!, now: schedule.now})
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return {code: 'TIMES_UNREADABLE', message: `Its times can no longer be read here, set them again: ${why}`}
  }
}

/** However many due times an outage swallowed, the newest alone is fired. */
const fire = async (tx: Tx, queue: Queue, schedule: Schedule, {newest, missed}: Due) => {
  const {id: of, org} = schedule
  const firing = {id: newId('fir'), org, schedule: of, dueAt: newest, by: 'clock', missed} as const
  const underWay = await findUnderWay(tx, of)
  if (!underWay) {
    if (await insertFiring(tx, firing)) await enqueue(queue, fireSchedule, {org, firing: firing.id}, {tx, track: false})
    return
  }
  const message = `Skipped: the firing of ${underWay.dueAt} was still at work`
  const reason = {code: 'ALREADY_RUNNING', message, firing: underWay.id, run: underWay.runId}
  if (await insertPassed(tx, {...firing, outcome: 'skipped', reason}))
    await tell(tx, 'schedule.skipped', schedule, {firing: firing.id, dueAt: newest, importId: null, reason})
}

/** In a transaction of their own each, until none is left. */
const each = (step: (tx: Tx, tools: Tools, queue: Queue) => Promise<boolean>) => async (tools: Tools, queue: Queue) => {
  for (let done = 0; done < perRound && !tools.drain.aborted; done++) {
    if (!(await tools.db.transaction(tx => step(tx, tools, queue)))) return
  }
}

/** Those whose worker died, whose job was lost, or that wait to try again. */
const sendLeft = ({db}: Tools, queue: Queue) =>
  db.transaction(async tx => {
    for (const {id, org} of await listLeft(tx, perRound)) await enqueue(queue, fireSchedule, {org, firing: id}, {tx, track: false})
  })

/**
 * Looks once a second at what time it is in Postgres. Any number of them may run: each due time is one row's, claimed by one of them, and
 * can become one firing only. A clock that stood still for hours catches up with one firing of each schedule.
 */
export default rounds({
  name: 'clock',
  everyMs: () => everyMs,
  steps: [each((tx, _tools, queue) => fireNext(tx, queue)), sendLeft, each(endNextRunning)],
})
