import type {Tx} from '../../sql/database.ts'
import type {Firing} from '../../sql/firings.ts'
import {countFailure, type Reason, type Schedule, stopSchedule} from '../../sql/schedules.ts'
import {announce} from '../notices/announce.ts'
import {recordChanges} from '../registry/change.ts'

/** After so many firings in a row that came to nothing somebody has to look. */
const mostFailures = 5

type Fired = {firing: string; dueAt: string; importId: string | null; reason: Reason}
type Kind = 'schedule.skipped' | 'schedule.failed' | 'schedule.drifted'

/** A schedule that can no longer do its work is turned off, and whoever wants to hear of it is told why, once. */
export const stop = async (tx: Tx, {id, org, templateId, connectorId}: Schedule, reason: Reason) => {
  if (!(await stopSchedule(tx, {id, reason}))) return
  const change = {page: 'templates', subject: 'schedule.enabled', target: id, connectorId, before: true, after: false} as const
  await recordChanges(tx, {org, via: 'schedule'}, [change])
  const {code, message} = reason
  await announce(tx, {org, kind: 'schedule.stopped', schedule: id, about: {schedule: id, template: templateId, code, message}})
}

/** Of one firing that came to nothing. */
export const tell = async (tx: Tx, kind: Kind, {id, org, templateId}: Schedule, {firing, dueAt, importId, reason}: Fired) => {
  const {code, message} = reason
  const about = {schedule: id, template: templateId, firing, due: dueAt, import: importId, code, message}
  await announce(tx, {org, kind, schedule: id, about})
}

type Drift = readonly {stops: boolean; kind: string}[]

/** It was run all the same, as its policy has it. */
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

/** The fifth in a row stops the schedule. */
export const tellFailure = async (tx: Tx, kind: Kind, schedule: Schedule, fired: Fired) => {
  await tell(tx, kind, schedule, fired)
  if ((await countFailure(tx, schedule.id)) < mostFailures) return
  const message = `${mostFailures} firings in a row came to nothing, the last because: ${fired.reason.message}. Mend that, then turn it on again`
  await stop(tx, schedule, {code: 'FAILED_REPEATEDLY', message})
}
