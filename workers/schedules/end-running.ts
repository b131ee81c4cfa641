import {describeRun} from '../../shared/runs/describe.ts'
import {findOrgRun} from '../../shared/runs/find.ts'
import type {Tx} from '../../sql/database.ts'
import {claimRunEnded, endRunning, type Firing} from '../../sql/firings.ts'
import {hasLaterRun} from '../../sql/held-files.ts'
import {forgetFailures, keepLastFile} from '../../sql/schedules.ts'

export const endNextRunning = async (tx: Tx): Promise<boolean> => {
  const firing = await claimRunEnded(tx)
  if (!firing) return false
  await end(tx, firing)
  return true
}

const read = async (tx: Tx, of: {org: string; runId: string}) => {
  const {stop, connectorId, rowsWritten, unchanged, keptRows, counts} = describeRun(await findOrgRun(tx, of))
  return {stop, connectorId, counts: {rowsWritten, unchanged, keptRows, modules: counts}}
}

/**
 * Ends a firing whose run has ended or was deleted. Stores the file as the last file, unless the run was deleted, or stopped before a row
 * may have been written. If the last file comes again after a stop, only the rest of the file is run. A cancelled run stores the file even
 * if it wrote no row, so that no later firing runs the same file automatically.
 */
const end = async (tx: Tx, firing: Firing) => {
  const {id, org, runId, scheduleId, sha256, templateVersion} = firing
  if (runId === null) {
    const reason = {code: 'RUN_GONE', message: 'The run was deleted before it ended'}
    await endRunning(tx, {id, outcome: 'stopped', reason, counts: null})
    return
  }
  const {stop, connectorId, counts} = await read(tx, {org, runId})
  const reason = stop && {code: stop.stopped, message: stop.message}
  await endRunning(tx, {id, outcome: stop ? 'stopped' : 'done', reason, counts})
  if (!stop) await forgetFailures(tx, scheduleId)
  if (stop && stop.stopped !== 'CANCELLED' && counts.rowsWritten === 0) return
  // A person may accept a held file after a newer file has run. The held file must not replace the newer one as the schedule's last file.
  if (firing.decision === 'accepted' && (await hasLaterRun(tx, {schedule: scheduleId, firing: id}))) return
  if (sha256 !== null && templateVersion !== null) await keepLastFile(tx, {id: scheduleId, sha256, templateVersion, connectorId})
}
