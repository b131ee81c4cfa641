import {atPoint} from '../shared/fault-point.ts'
import {newId} from '../shared/ids.ts'
import {fireSchedule} from '../shared/jobs.ts'
import {enqueue, type Queue} from '../shared/queue.ts'
import {catchUp, type Due} from '../shared/schedules/cron.ts'
import {logStop, stop} from '../shared/schedules/stop.ts'
import type {Tx} from '../sql/database.ts'
import {findUnderWay, insertFiring, insertPassed, listLeft} from '../sql/firings.ts'
import {claimDue, type Reason, type Schedule, setNextDue} from '../sql/schedules.ts'
import type {WorkerDeps} from './deps.ts'
import {periodicTask} from './periodic.ts'
import {endNextRunning} from './schedules/end-running.ts'

const everyMs = 1_000
/** The limit per round on due schedules, on firings to enqueue, and on firings whose run has ended. The rest waits for the next round. */
const perRound = 500

/** Fires one due schedule and returns whether there was one. One transaction makes the firing and sets the schedule's next due time. */
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
  if (due.next === null) await stop(tx, schedule, {code: 'NEVER_AGAIN', message: 'The schedule has no further due times'})
  else await setNextDue(tx, {id: schedule.id, nextDueAt: due.next})
  return true
}

/**
 * Returns the schedule's due times, or why the schedule must stop. An update of the system's time zone data may remove the schedule's time
 * zone.
 */
const readDue = (schedule: Schedule): Due | Reason => {
  try {
    return catchUp(schedule, {due: schedule.nextDueAt!, now: schedule.now})
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return {code: 'TIMES_UNREADABLE', message: `The times of the schedule cannot be read any more. Set them again: ${why}`}
  }
}

/**
 * Fires a schedule for its newest due time only, even if an outage spanned several. If a firing of the schedule is in progress, records a
 * skipped firing instead.
 */
const fire = async (tx: Tx, queue: Queue, schedule: Schedule, {newest, missed}: Due) => {
  const {id: of, org} = schedule
  const firing = {id: newId('fir'), org, schedule: of, dueAt: newest, by: 'clock', missed} as const
  const underWay = await findUnderWay(tx, of)
  if (!underWay) {
    if (await insertFiring(tx, firing)) await enqueue(queue, fireSchedule, {org, firing: firing.id}, {tx, track: false})
    return
  }
  const message = `Skipped: the firing of ${underWay.dueAt} was still in progress`
  const reason = {code: 'ALREADY_RUNNING', message, firing: underWay.id, run: underWay.runId}
  if (await insertPassed(tx, {...firing, outcome: 'skipped', reason}))
    await logStop(tx, 'schedule.skipped', schedule, {firing: firing.id, dueAt: newest, importId: null, reason})
}

/** Makes a step that repeats `step`, each time in its own transaction, until no work is left or the round's limit is reached. */
const each = (step: (tx: Tx, deps: WorkerDeps, queue: Queue) => Promise<boolean>) => async (deps: WorkerDeps, queue: Queue) => {
  for (let done = 0; done < perRound && !deps.drain.aborted; done++) {
    if (!(await deps.db.transaction(tx => step(tx, deps, queue)))) return
  }
}

/** Enqueues firings whose worker died, whose job was lost, or that wait for a retry. */
const sendLeft = ({db}: WorkerDeps, queue: Queue) =>
  db.transaction(async tx => {
    for (const {id, org} of await listLeft(tx, perRound)) await enqueue(queue, fireSchedule, {org, firing: id}, {tx, track: false})
  })

/**
 * Polls once a second for schedules that are due by the clock of Postgres. Any number of processes may poll, because one process claims each
 * due time and makes one firing of it. After an outage, each schedule catches up with one firing.
 */
export default periodicTask({
  name: 'clock',
  everyMs: () => everyMs,
  steps: [each((tx, _tools, queue) => fireNext(tx, queue)), sendLeft, each(endNextRunning)],
})
