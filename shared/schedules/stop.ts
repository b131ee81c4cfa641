import type {Tx} from '../../sql/database.ts'
import type {Firing} from '../../sql/firings.ts'
import {countFailure, type Reason, type Schedule, stopSchedule} from '../../sql/schedules.ts'
import {recordChanges} from '../configuration/change.ts'
import {announce} from '../notifications/announce.ts'

/** The number of failed firings in a row after which a schedule stops. */
const mostFailures = 5

type FiredSchedule = {firing: string; dueAt: string; importId: string | null; reason: Reason}
type StopKind = 'schedule.skipped' | 'schedule.failed' | 'schedule.drifted'

/** Stops a schedule that can no longer run, and notifies its recipients once. */
export const stop = async (tx: Tx, {id, org, templateId, connectorId}: Schedule, reason: Reason) => {
  if (!(await stopSchedule(tx, {id, reason}))) return
  const change = {page: 'templates', subject: 'schedule.enabled', target: id, connectorId, before: true, after: false} as const
  await recordChanges(tx, {org, via: 'schedule'}, [change])
  const {code, message} = reason
  await announce(tx, {org, kind: 'schedule.stopped', schedule: id, about: {schedule: id, template: templateId, code, message}})
}

export const logStop = async (
  tx: Tx,
  kind: StopKind,
  {id, org, templateId}: Schedule,
  {firing, dueAt, importId, reason}: FiredSchedule,
) => {
  const {code, message} = reason
  const about = {schedule: id, template: templateId, firing, due: dueAt, import: importId, code, message}
  await announce(tx, {org, kind, schedule: id, about})
}

type Drift = readonly {stops: boolean; kind: string}[]

export const announceDrift = async (tx: Tx, schedule: Schedule, {firing, runId, drift}: {firing: Firing; runId: string; drift: Drift}) => {
  if (drift.length === 0) return
  const {id, org, templateId} = schedule
  const kinds = [...new Set(drift.map(({kind}) => kind))]
  const about = {
    schedule: id,
    template: templateId,
    firing: firing.id,
    due: firing.dueAt,
    run: runId,
    changes: drift.length,
    kinds: kinds.join(', '),
  }
  await announce(tx, {org, kind: 'schedule.drifted', schedule: id, about})
}

export const logFailure = async (tx: Tx, kind: StopKind, schedule: Schedule, fired: FiredSchedule) => {
  await logStop(tx, kind, schedule, fired)
  if ((await countFailure(tx, schedule.id)) < mostFailures) return
  const message = `${mostFailures} firings in a row failed. The last reason: ${fired.reason.message}. Fix that, then turn the schedule on again`
  await stop(tx, schedule, {code: 'FAILED_REPEATEDLY', message})
}
