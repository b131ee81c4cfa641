import {describeRun} from '../../shared/runs/describe.ts'
import {findOrgRun} from '../../shared/runs/find.ts'
import type {Tx} from '../../sql/database.ts'
import {claimRunEnded, endRunning, type Firing} from '../../sql/firings.ts'
import {forgetFailures, keepLastFile} from '../../sql/schedules.ts'

/** One firing whose run has come to its end, if there is one. */
export const endNextRunning = async (tx: Tx): Promise<boolean> => {
  const firing = await claimRunEnded(tx)
  if (!firing) return false
  await end(tx, firing)
  return true
}

const read = async (tx: Tx, of: {org: string; runId: string}) => {
  const {stop, connectorId, rowsWritten, counts} = describeRun(await findOrgRun(tx, of))
  return {stop, connectorId, counts: {rowsWritten, modules: counts}}
}

/**
 * A file counts as run once anything of it may have been written: when it comes again, only what was left of it is run. What a person
 * cancelled is not begun again by itself.
 */
const end = async (tx: Tx, firing: Firing) => {
  const {id, org, runId, scheduleId, sha256, templateVersion} = firing
  if (runId === null) {
    const reason = {code: 'RUN_GONE', message: 'Its run was removed before it had ended'}
    await endRunning(tx, {id, outcome: 'stopped', reason, counts: null})
    return
  }
  const {stop, connectorId, counts} = await read(tx, {org, runId})
  const reason = stop && {code: stop.stopped, message: stop.message}
  await endRunning(tx, {id, outcome: stop ? 'stopped' : 'done', reason, counts})
  if (!stop) await forgetFailures(tx, scheduleId)
  if (stop && stop.stopped !== 'CANCELLED' && counts.rowsWritten === 0) return
  if (sha256 !== null && templateVersion !== null) await keepLastFile(tx, {id: scheduleId, sha256, templateVersion, connectorId})
}
