import type {Breach} from '../../shared/mapping/data-contracts/breach.ts'
import {bindWhatFits} from '../../shared/mapping/templates/apply.ts'
import type {Obstacle} from '../../shared/schedules/schedule-status.ts'
import {logFailure, logStop, stop} from '../../shared/schedules/stop.ts'
import type {Tx} from '../../sql/database.ts'
import {endFiring, type Firing, findFiringImport} from '../../sql/firings.ts'
import {forgetFailures, type Reason, type Schedule} from '../../sql/schedules.ts'
import {Superseded} from './lease.ts'

type FiringOf = {firing: Firing; schedule: Schedule}
type EndedFiring = Parameters<typeof endFiring>[2]

const end = async (tx: Tx, firing: Firing, ended: EndedFiring) => {
  if (!(await endFiring(tx, firing, ended))) throw new Superseded()
}

const firedOf = ({id, dueAt}: Firing, reason: Reason, importId: string | null = null) => ({firing: id, dueAt, importId, reason})

export const endUnchanged = async (tx: Tx, {firing, schedule}: FiringOf, sha256: string) => {
  const message = 'The file and the template are the same as in the last run, so nothing was run. Fire with again: true to run it anyway'
  await end(tx, firing, {outcome: 'unchanged', reason: {code: 'UNCHANGED', message}, sha256})
  await forgetFailures(tx, schedule.id)
}

export const endDiscarded = async (tx: Tx, {firing}: FiringOf, sha256: string) => {
  const message = 'A person discarded this file before, so nothing was run. Fire with again: true to check it again'
  await end(tx, firing, {outcome: 'unchanged', reason: {code: 'DISCARDED', message}, sha256})
}

/** Ends a firing because of an obstacle. A permanent obstacle fails the firing and disables the schedule. A temporary one skips the firing. */
export const endBlocked = async (tx: Tx, {firing, schedule}: FiringOf, {stops, reason}: Obstacle) => {
  await end(tx, firing, {outcome: stops ? 'failed' : 'skipped', reason})
  if (stops) await stop(tx, schedule, reason)
  else await logStop(tx, 'schedule.skipped', schedule, firedOf(firing, reason))
}

export const endFailed = async (tx: Tx, {firing, schedule}: FiringOf, reason: Reason) => {
  await end(tx, firing, {outcome: 'failed', reason})
  // This attempt may have made the import after it took the firing.
  await logFailure(tx, 'schedule.failed', schedule, firedOf(firing, reason, await findFiringImport(tx, firing.id)))
}

/**
 * Ends a firing because of drift, before the first row. The import and its file stay, so that a person can correct the template and start
 * the run.
 */
export const endDrifted = async (
  tx: Tx,
  {firing, schedule}: FiringOf,
  {drift, importId}: {drift: readonly DriftedFiring[]; importId: string},
) => {
  const messages = drift.filter(({stops}) => stops).map(({message}) => message)
  const reason = {code: 'DRIFTED', message: `Nothing was run: ${messages.slice(0, 3).join('; ')}${messages.length > 3 ? '; …' : ''}`}
  await end(tx, firing, {outcome: 'drifted', reason, drift})
  await logFailure(tx, 'schedule.drifted', schedule, firedOf(firing, reason, importId))
}
type DriftedFiring = {stops: boolean; message: string}

type HeldFiring = {
  breaches: readonly Breach[]
  drift: readonly DriftedFiring[]
  importId: string
  filled: readonly {slot: string; sourceId: string}[]
  /** Whether the files were cleaned as their slots define. Flows are bound to cleaned files only. */
  isCleaned: boolean
}

const mostBreaches = 100

/**
 * Ends a firing because its file does not meet the data contract, before the first row. The import and its file wait for a person's decision.
 */
export const endHeld = async (
  tx: Tx,
  {firing, schedule, contract}: FiringOf & {contract: {version: number}},
  {breaches, drift, importId, filled, isCleaned}: HeldFiring,
) => {
  const files = filled.map(({slot, sourceId}) => ({slot, sourceId}))
  if (isCleaned) await bindWhatFits(tx, {org: schedule.org, importId, sources: files})
  const messages = breaches.slice(0, 3).map(({message}) => message)
  const message = `Nothing was run, because the file does not meet the data contract: ${messages.join('; ')}${breaches.length > 3 ? '; …' : ''}. Accept or discard the file`
  const reason = {code: 'CONTRACT_BROKEN', message}
  const held = {version: contract.version, breaches: breaches.slice(0, mostBreaches), total: breaches.length, files}
  await end(tx, firing, {outcome: 'drifted', reason, drift, contract: held})
  await logFailure(tx, 'schedule.drifted', schedule, firedOf(firing, reason, importId))
}
