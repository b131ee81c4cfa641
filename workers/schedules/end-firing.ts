import type {Obstacle} from '../../shared/schedules/standing.ts'
import {stop, tell, tellFailure} from '../../shared/schedules/stop.ts'
import {bindWhatFits} from '../../shared/templates/apply.ts'
import type {Tx} from '../../sql/database.ts'
import {endFiring, type Firing} from '../../sql/firings.ts'
import {forgetFailures, type Reason, type Schedule} from '../../sql/schedules.ts'
import {Superseded} from './lease.ts'

type Of = {firing: Firing; schedule: Schedule}
type End = Parameters<typeof endFiring>[2]

const end = async (tx: Tx, firing: Firing, ended: End) => {
  if (!(await endFiring(tx, firing, ended))) throw new Superseded()
}

const firedOf = ({id, dueAt}: Firing, reason: Reason, importId: string | null = null) => ({firing: id, dueAt, importId, reason})

/** The file is the last one's, and so is the template. */
export const endUnchanged = async (tx: Tx, {firing, schedule}: Of, sha256: string) => {
  const message =
    'The file is the one the last run was made from, and so is the template: nothing was run. Fire with again: true to run it all the same'
  await end(tx, firing, {outcome: 'unchanged', reason: {code: 'UNCHANGED', message}, sha256})
  await forgetFailures(tx, schedule.id)
}

/** What stands in its way for good turns the schedule off; what may pass costs this one time. */
export const endHindered = async (tx: Tx, {firing, schedule}: Of, {stops, reason}: Obstacle) => {
  await end(tx, firing, {outcome: stops ? 'failed' : 'skipped', reason})
  if (stops) await stop(tx, schedule, reason)
  else await tell(tx, 'schedule.skipped', schedule, firedOf(firing, reason))
}

export const endFailed = async (tx: Tx, {firing, schedule}: Of, reason: Reason) => {
  await end(tx, firing, {outcome: 'failed', reason})
  await tellFailure(tx, 'schedule.failed', schedule, firedOf(firing, reason, firing.importId))
}

type Undecided = {reason: Reason; importId: string; filled: readonly {slot: string; sourceId: string}[]}

/** No row is written while the encoding of the file is uncertain. The import stays with its file: a person decides and runs it by hand. */
export const endUndecided = async (tx: Tx, {firing, schedule}: Of, {reason, importId, filled}: Undecided) => {
  await bindWhatFits(tx, {org: schedule.org, importId, sources: filled.map(({slot, sourceId}) => ({slot, sourceId}))})
  await end(tx, firing, {outcome: 'failed', reason})
  await tellFailure(tx, 'schedule.failed', schedule, firedOf(firing, reason, importId))
}

/** Before its first row. The import stays, with the file in it: whoever mends the template can run it by hand. */
export const endDrifted = async (tx: Tx, {firing, schedule}: Of, {drift, importId}: {drift: readonly Drifted[]; importId: string}) => {
  const messages = drift.filter(({stops}) => stops).map(({message}) => message)
  const reason = {code: 'DRIFTED', message: `Nothing was run: ${messages.slice(0, 3).join('; ')}${messages.length > 3 ? '; …' : ''}`}
  await end(tx, firing, {outcome: 'drifted', reason, drift})
  await tellFailure(tx, 'schedule.drifted', schedule, firedOf(firing, reason, importId))
}
type Drifted = {stops: boolean; message: string}
