import {z} from 'zod'
import type {Db} from '../../sql/database.ts'
import {type Firing, listLastFirings} from '../../sql/firings.ts'
import {VerifyMode} from '../../sql/runs.ts'
import {findSchedule, type Schedule} from '../../sql/schedules.ts'
import type {Role} from '../accounts/roles.ts'
import type {Config} from '../config.ts'
import {Refusal} from '../errors.ts'
import {isZone} from '../expressions/zone-offset.ts'
import {findVisible} from '../mapping/templates/find.ts'
import {Notify, readNotify} from '../notifications/notify.ts'
import {oneLine} from '../schema/name.ts'
import {preview} from './cron.ts'
import {FileSource, openSource, SourceChange} from './fetch/main.ts'

export type ScheduleCaller = {org: string; person: string; rank: Role}

const shown = {
  name: oneLine(z.string().trim().min(1).max(200)).describe('The name of the schedule'),
  cron: z
    .string()
    .trim()
    .max(200)
    .describe(
      'When the schedule fires: minute, hour, day of the month, month and day of the week, with one space between; at most every five minutes, or every minute if the plan has `frequent_schedules`',
    ),
  timezone: z.string().max(64).describe('The time zone of `cron`, by its IANA name, such as `Europe/Berlin`'),
  declaredRows: z
    .int()
    .min(1)
    .max(1_000_000_000)
    .nullish()
    .describe('The most rows that each run may write; null: as many as the file has'),
  connectorId: z
    .string()
    .max(64)
    .nullish()
    .describe('The connection for the runs, if the template names none. Left out: the only connection of the org'),
  onDrift: z
    .enum(['stop', 'warn'])
    .default('stop')
    .describe(
      'If the file or the CRM no longer matches the template: `stop` runs nothing, `warn` runs the file and sends a notice, unless its flows or cleaning steps no longer work',
    ),
  verify: VerifyMode.nullish().describe(
    'Which written rows the runs read back; null: as the template says. Left out: null for a new schedule, unchanged for another',
  ),
  notify: Notify.nullish().describe('Who is notified, besides those who receive all notifications of the org; null: no one else'),
  enabled: z
    .boolean()
    .optional()
    .describe('Whether the schedule fires automatically. Left out: a new one does, and a replaced one is unchanged'),
}

export const NewSchedule = z.strictObject({...shown, source: FileSource.describe('Where the file is fetched from, with the credentials')})
export type NewSchedule = z.output<typeof NewSchedule>

/** The body that replaces a schedule. If kind, target and user of the source are the same, credentials that are left out are kept. */
export const ReplacedSchedule = z.strictObject({
  ...shown,
  source: SourceChange.describe(
    'Where the file is fetched from. A credential that is left out stays for the same place and user, null removes it',
  ),
})
export type ReplacedSchedule = z.output<typeof ReplacedSchedule>

type ScheduleRef = ScheduleCaller & {template: string; id: string}

export const findOwnSchedule = async (db: Db, {template, id, ...asker}: ScheduleRef): Promise<Schedule> => {
  await findVisible(db, {...asker, id: template})
  return (await findSchedule(db, {org: asker.org, template, id})) ?? noSchedule()
}

export const noSchedule = (): never => {
  throw new Refusal('NOT_FOUND', 'No such schedule')
}

export const sourceOf = ({SECRETS_KEYS: ring}: Pick<Config, 'SECRETS_KEYS'>, {id, source, credentials}: Schedule): FileSource =>
  openSource(ring, {open: source, sealed: credentials}, id)

export const runOptionsOf = ({declaredRows, verify}: Schedule) => ({
  ...(declaredRows !== null && {declaredRows}),
  ...(verify !== null && {verify}),
})

/**
 * Returns schedules in the form of the API, each with its last firing. An enabled schedule also has its next five due times. Credentials are never
 * returned.
 */
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
  const {id, templateId, connectorId, name, cron, timezone, declaredRows, onDrift, verify, enabled, stopped, failures, version} = schedule
  return {
    id,
    templateId,
    connectorId,
    name,
    cron,
    timezone,
    source: schedule.source,
    declaredRows,
    onDrift,
    verify,
    enabled,
    stopped,
    // An update of the time zone data may remove a zone. The schedule then stops at its next due time.
    next: enabled && isZone(timezone) ? preview({cron, timezone}, schedule.now) : [],
    failures,
    version,
    createdBy: schedule.createdBy,
    createdAt: schedule.createdAt,
  }
}

/** `tryAgainAt`: when a failed fetch is tried again. `counts`: the counts of the run after its end. */
export const describeFiring = (firing: Firing) => {
  const {id, scheduleId, dueAt, by, personId, missed, state, outcome, reason, drift, importId, runId, counts, sha256, tries} = firing
  return {
    id,
    scheduleId,
    dueAt,
    by,
    person: personId,
    missed,
    state,
    outcome,
    reason,
    drift,
    contract: describeHeldFile(firing),
    importId,
    runId,
    counts,
    openQuestions: firing.openQuestions,
    sha256,
    tries,
    tryAgainAt: state === 'due' && tries > 0 ? firing.leaseUntil : null,
    createdAt: firing.createdAt,
    startedAt: firing.startedAt,
    endedAt: firing.endedAt,
  }
}

const HeldContract = z.object({version: z.number(), breaches: z.array(z.unknown()), total: z.number()})

const describeHeldFile = ({contract, decision, decidedAt}: Firing) =>
  contract === null ? null : {...HeldContract.parse(contract), decision, decidedAt}
