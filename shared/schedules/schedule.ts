import {z} from 'zod'
import type {Db} from '../../sql/database.ts'
import {type Firing, listLastFirings} from '../../sql/firings.ts'
import {findSchedule, type Schedule} from '../../sql/schedules.ts'
import type {Config} from '../config.ts'
import {Refusal} from '../errors.ts'
import {FileSource, openSource, SourceChange} from '../fetch-source.ts'
import {oneLine} from '../name.ts'
import {Notify, readNotify} from '../notices/notify.ts'
import type {Role} from '../people/roles.ts'
import {findVisible} from '../templates/find.ts'
import {preview} from './cron.ts'

/** Who asks, and with which rank. */
export type Asker = {org: string; person: string; rank: Role}

const shown = {
  name: oneLine(z.string().trim().min(1).max(200)).describe('What people call it'),
  cron: z
    .string()
    .trim()
    .max(200)
    .describe(
      'When it fires: minute, hour, day of the month, month and day of the week, with one space between; at most every five minutes, or every minute if the plan has `frequent_schedules`',
    ),
  timezone: z.string().max(64).describe('The time zone `cron` is read in, by its IANA name, such as `Europe/Berlin`'),
  declaredRows: z
    .int()
    .min(1)
    .max(1_000_000_000)
    .nullish()
    .describe('How many rows each run may write at most; null: as many as the file has'),
  connectorId: z
    .string()
    .max(64)
    .nullish()
    .describe('The connection it runs on, where the template names none; left out, the only one there is'),
  onDrift: z
    .enum(['stop', 'warn'])
    .default('stop')
    .describe('What is done with a file or a CRM that is no longer as the template has it: nothing, or what still fits'),
  notify: Notify.nullish().describe('Who is told of it, beside those who are told of everything in the org; null: nobody'),
  enabled: z.boolean().optional().describe('Whether it fires by itself; left out, a new one does, and a replaced one as before'),
}

export const NewSchedule = z.strictObject({...shown, source: FileSource.describe('Where the file is fetched from, with what lets one in')})
export type NewSchedule = z.output<typeof NewSchedule>

/** `source` without credentials keeps those there are. */
export const ReplacedSchedule = z.strictObject({
  ...shown,
  source: SourceChange.describe(
    'Where the file is fetched from. A credential that is left out stays for the same place and user, null takes it away',
  ),
})
export type ReplacedSchedule = z.output<typeof ReplacedSchedule>

type Named = Asker & {template: string; id: string}

/** A schedule of a template its asker sees. */
export const findOwnSchedule = async (db: Db, {template, id, ...asker}: Named): Promise<Schedule> => {
  await findVisible(db, {...asker, id: template})
  return (await findSchedule(db, {org: asker.org, template, id})) ?? noSchedule()
}

export const noSchedule = (): never => {
  throw new Refusal('NOT_FOUND', 'No such schedule')
}

/** With what lets one in. */
export const sourceOf = ({SECRETS_KEYS: ring}: Pick<Config, 'SECRETS_KEYS'>, {id, source, credentials}: Schedule): FileSource =>
  openSource(ring, {open: source, sealed: credentials}, id)

/** Schedules as the API answers them, each with its next five moments and the last time it fired. Credentials are never told. */
export const describeSchedules = async (db: Db, schedules: readonly Schedule[]) => {
  const last = await listLastFirings(
    db,
    schedules.map(({id}) => id),
  )
  return Promise.all(
    schedules.map(async schedule => ({
      ...shapeSchedule(schedule),
      notify: await readNotify(db, {org: schedule.org, schedule: schedule.id}),
      lastFiring: last.filter(({scheduleId}) => scheduleId === schedule.id).map(describeFiring)[0] ?? null,
    })),
  )
}

const shapeSchedule = (schedule: Schedule) => {
  const {id, templateId, connectorId, name, cron, timezone, declaredRows, onDrift, enabled, stopped, failures, version} = schedule
  return {
    ...{id, templateId, connectorId, name, cron, timezone, source: schedule.source, declaredRows, onDrift, enabled, stopped},
    next: enabled ? preview({cron, timezone}, schedule.now) : [],
    ...{failures, version, createdBy: schedule.createdBy, createdAt: schedule.createdAt},
  }
}

/** `tryAgainAt`: when one that could not get its file tries again. `counts`: of its run, once that has ended. */
export const describeFiring = (firing: Firing) => {
  const {id, scheduleId, dueAt, by, personId, missed, state, outcome, reason, drift, importId, runId, counts, sha256, tries} = firing
  return {
    ...{id, scheduleId, dueAt, by, person: personId, missed, state, outcome, reason, drift, importId, runId, counts, sha256, tries},
    tryAgainAt: state === 'due' && tries > 0 ? firing.leaseUntil : null,
    ...{createdAt: firing.createdAt, startedAt: firing.startedAt, endedAt: firing.endedAt},
  }
}
