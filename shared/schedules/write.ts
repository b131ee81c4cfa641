import {isDeepStrictEqual} from 'node:util'
import {readClock} from '../../sql/clock.ts'
import type {Pool, Tx} from '../../sql/database.ts'
import {findMember} from '../../sql/members.ts'
import {lockOrg} from '../../sql/orgs.ts'
import {findPlan} from '../../sql/plans.ts'
import {
  countEnabled,
  deleteSchedule,
  insertSchedule,
  lockSchedule,
  type Schedule,
  setScheduleEnabled,
  updateSchedule,
} from '../../sql/schedules.ts'
import type {TemplateRow} from '../../sql/templates.ts'
import {impersonationRefused} from '../accounts/impersonation.ts'
import {assertFeature} from '../billing/entitlements/features.ts'
import {countRefusal} from '../billing/entitlements/refusal.ts'
import type {Config} from '../config.ts'
import type {Author} from '../configuration/change.ts'
import {assertVersion, type Condition} from '../configuration/version.ts'
import {chooseConnector} from '../crm/choose.ts'
import {Refusal} from '../errors.ts'
import {newId} from '../ids.ts'
import {findVisible, lockVisible} from '../mapping/templates/find.ts'
import {keepNotify, readNotify} from '../notifications/notify.ts'
import {assertConnected, assertSchedulable, assertSourceAllowed} from './assert-runnable.ts'
import {contentOf, recordSchedule} from './change.ts'
import {assertTimes, isFrequent, nextAfter, type Times} from './cron.ts'
import {type Described, type FileSource, mergeCredentials, replaceLost, sealSource} from './fetch/main.ts'
import {type NewSchedule, noSchedule, type ReplacedSchedule, type ScheduleCaller, sourceOf} from './schedule.ts'

type ScheduleDeps = {db: Pool; config: Config}
type NamedSchedule = ScheduleCaller & Author & {person: string; template: string}
type OneSchedule = NamedSchedule & {id: string; condition: Condition}

export const createSchedule = ({db, config}: ScheduleDeps, asker: NamedSchedule, body: NewSchedule): Promise<Schedule> =>
  db.transaction(async tx => {
    assertTimes(body)
    const {org, person} = asker
    await lockOrg(tx, org)
    await assertInterval(tx, org, body)
    const template = await lockVisible(tx, {...asker, id: asker.template})
    if (!(await findMember(tx, {org, person})))
      throw new Refusal(
        'STAFF_VIEW',
        'A schedule acts as its creator, and staff who view an org are not its members. Ask a member to create it',
      )
    const id = newId('sch')
    assertSchedulable(template, body.source)
    assertSourceAllowed(config, org, body.source)
    const {enabled, ...written} = {...(await shape(tx, {org, template, verify: null}, body)), enabled: body.enabled ?? true}
    if (enabled) await assertMayRun(tx, {org, connector: template.connectorId ?? written.connectorId})
    const nextDueAt = enabled ? nextAfter(body, await readClock(tx)) : null
    const sealed = seal(config, id, body.source)
    const made = await insertSchedule(tx, {...written, ...sealed, id, org, template: template.id, person, enabled, nextDueAt})
    await keepNotify(tx, config, {org, schedule: id, notify: body.notify ?? null})
    await recordSchedule(tx, asker, {schedule: made, template}, {subject: 'schedule.created', before: null, after: contentOf(made)})
    return made
  })

/**
 * Replaces a schedule. For stored credentials, see `mergeCredentials` and `replaceLost`. Enabling the schedule clears the reason of its stop. A
 * firing that was due before the change still fires, because the periodic task may not have processed it yet. If the change disables the schedule,
 * nothing fires. If the body equals the schedule, nothing changes, also not the version.
 */
export const replaceSchedule = ({db, config}: ScheduleDeps, asker: OneSchedule, body: ReplacedSchedule): Promise<Schedule> =>
  db.transaction(async tx => {
    assertTimes(body)
    const {org} = asker
    const {template, schedule} = await hold(tx, asker)
    await assertInterval(tx, org, body)
    const {id} = schedule
    const enabled = body.enabled ?? schedule.enabled
    assertSchedulable(template, body.source)
    const nextDueAt = enabled ? nextOf(schedule, body) : null
    const source = merge(config, schedule, body.source)
    assertSourceAllowed(config, org, source)
    const sealed = seal(config, id, source)
    const written = await shape(tx, {org, template, verify: schedule.verify}, body)
    const connector = template.connectorId ?? written.connectorId
    if (enabled) await (schedule.enabled ? assertConnected(tx, {org, connector}) : assertMayRun(tx, {org, connector}))
    const isReconnected = connector !== (template.connectorId ?? schedule.connectorId)
    const isNotifyChanged = await changeNotify(tx, config, asker, body)
    const sourceChanged = !isSame(config, schedule, source)
    const content = {...written, enabled}
    if (!isNotifyChanged && !sourceChanged && isDeepStrictEqual({...schedule, ...content}, schedule)) return schedule
    const changed = await updateSchedule(tx, {...content, ...sealed, id, nextDueAt, isReconnected})
    const after = {...contentOf(changed), sourceChanged}
    await recordSchedule(tx, asker, {schedule: changed, template}, {subject: 'schedule.changed', before: contentOf(schedule), after})
    return changed
  })

/** Stores who gets the schedule's notices, and returns whether the recipients changed. A staff view cannot change them. */
const changeNotify = async (tx: Tx, config: Config, {org, id, staffView}: OneSchedule, {notify}: ReplacedSchedule): Promise<boolean> => {
  const place = {org, schedule: id}
  const before = await readNotify(tx, place)
  await keepNotify(tx, config, {...place, notify: notify ?? null})
  const isChanged = !isDeepStrictEqual(before, await readNotify(tx, place))
  if (isChanged && staffView) throw impersonationRefused()
  return isChanged
}

/** Enables or disables a schedule. Times that passed while the schedule was disabled do not fire later. */
export const setEnabled = ({db}: Pick<ScheduleDeps, 'db'>, asker: OneSchedule, enabled: boolean): Promise<Schedule> =>
  db.transaction(async tx => {
    const {template, schedule} = await hold(tx, asker)
    if (schedule.enabled === enabled) return schedule
    if (enabled) {
      assertTimes(schedule)
      assertSchedulable(template, schedule.source as Described)
      await assertInterval(tx, asker.org, schedule)
      await assertMayRun(tx, {org: asker.org, connector: template.connectorId ?? schedule.connectorId})
    }
    const nextDueAt = enabled ? nextAfter(schedule, schedule.now) : null
    const changed = await setScheduleEnabled(tx, {id: schedule.id, nextDueAt})
    const change = {subject: 'schedule.enabled', before: schedule.enabled, after: enabled}
    await recordSchedule(tx, asker, {schedule: changed, template}, change)
    return changed
  })

/** Deletes a schedule with its history. If a run of the schedule is active, that run continues. */
export const removeSchedule = ({db}: Pick<ScheduleDeps, 'db'>, asker: OneSchedule): Promise<void> =>
  db.transaction(async tx => {
    const {template, schedule} = await hold(tx, asker)
    await deleteSchedule(tx, schedule.id)
    await recordSchedule(tx, asker, {schedule, template}, {subject: 'schedule.deleted', before: contentOf(schedule), after: null})
  })

const seal = ({SECRETS_KEYS: ring}: Config, id: string, fileSource: FileSource) => {
  const {open: source, sealed: credentials} = sealSource(ring, fileSource, id)
  return {source, credentials}
}

/** Locks the org's row and then the schedule, in the same order as callers that count the org's schedules. */
const hold = async (tx: Tx, {org, template: id, ...asker}: OneSchedule) => {
  await lockOrg(tx, org)
  const template = await findVisible(tx, {org, ...asker, id})
  const schedule = (await lockSchedule(tx, {org, template: id, id: asker.id})) ?? noSchedule()
  assertVersion('schedule', schedule, asker.condition)
  return {template, schedule}
}

/** Merges the change with the stored credentials. If their key is lost, the caller must send the credentials again. */
const merge = (config: Config, schedule: Schedule, change: ReplacedSchedule['source']): FileSource => {
  let before: FileSource
  try {
    before = sourceOf(config, schedule)
  } catch {
    return replaceLost(schedule.source as Described, change)
  }
  return mergeCredentials(before, change)
}

/** Returns whether the source is unchanged. If the key is lost, the source is treated as changed. */
const isSame = (config: Config, schedule: Schedule, source: FileSource): boolean => {
  try {
    return isDeepStrictEqual(sourceOf(config, schedule), source)
  } catch {
    return false
  }
}

const nextOf = ({nextDueAt, now}: Schedule, times: Times): string | null =>
  nextDueAt !== null && nextDueAt <= now ? nextDueAt : nextAfter(times, now)

const assertInterval = async (tx: Tx, org: string, {cron}: Pick<Times, 'cron'>) => {
  if (isFrequent(cron)) await assertFeature(tx, org, 'frequent_schedules')
}

const assertMayRun = async (tx: Tx, {org, connector}: {org: string; connector: string | null}) => {
  await assertRoom(tx, org)
  await assertConnected(tx, {org, connector})
}

/** Checks the limit for one more enabled schedule. Disabled schedules are not counted. The caller must hold the org's row lock. */
const assertRoom = async (tx: Tx, org: string) => {
  const [{limits}, used] = [await findPlan(tx, org), await countEnabled(tx, org)]
  if (used < limits.schedules) return
  const says = `The plan allows ${limits.schedules} enabled schedule${limits.schedules === 1 ? '' : 's'}. Turn one off, or choose a plan with more`
  throw await countRefusal(tx, {org, code: 'LIMIT_SCHEDULES', limit: 'schedules', wanted: used + 1, used, says})
}

/** `verify`: the present value of the schedule; null for a new schedule. */
type SchedulePlace = {org: string; template: TemplateRow; verify: Schedule['verify']}

const shape = async (tx: Tx, schedulePlace: SchedulePlace, body: Omit<NewSchedule, 'source'>) => {
  const {name, cron, timezone, declaredRows, onDrift} = body
  return {
    name,
    cron,
    timezone,
    declaredRows: declaredRows ?? null,
    onDrift,
    verify: body.verify === undefined ? schedulePlace.verify : body.verify,
    connectorId: await connectorOf(tx, schedulePlace, body.connectorId),
  }
}

/** Returns the connection to store in the schedule: null if the template names one, otherwise the named or the only connection of the org. */
const connectorOf = async (
  tx: Tx,
  {org, template}: Omit<SchedulePlace, 'verify'>,
  named: string | null | undefined,
): Promise<string | null> => {
  if (template.connectorId === null) return (await chooseConnector(tx, {org, id: named ?? undefined})).id
  if (named && named !== template.connectorId)
    throw new Refusal('INVALID', 'The template names another connection. Leave connectorId out, or change the template')
  return null
}
