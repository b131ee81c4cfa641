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
import type {Config} from '../config.ts'
import {chooseConnector} from '../crm/choose.ts'
import {assertFeature} from '../entitlements/features.ts'
import {countRefusal} from '../entitlements/refusal.ts'
import {Refusal} from '../errors.ts'
import {type Described, type FileSource, mergeCredentials, replaceLost, sealSource} from '../fetch-source.ts'
import {newId} from '../ids.ts'
import {keepNotify} from '../notices/notify.ts'
import type {Author} from '../registry/change.ts'
import {assertVersion, type Condition} from '../registry/version.ts'
import {findVisible, lockVisible} from '../templates/find.ts'
import {contentOf, recordSchedule} from './change.ts'
import {assertTimes, isFrequent, nextAfter, type Times} from './cron.ts'
import {type Asker, type NewSchedule, noSchedule, type ReplacedSchedule, sourceOf} from './schedule.ts'

type Tools = {db: Pool; config: Config}
type Named = Asker & Author & {person: string; template: string}
type NamedOne = Named & {id: string; condition: Condition}

export const createSchedule = ({db, config}: Tools, asker: Named, body: NewSchedule): Promise<Schedule> =>
  db.transaction(async tx => {
    assertTimes(body)
    const {org, person} = asker
    await lockOrg(tx, org)
    await assertInterval(tx, org, body)
    const template = await lockVisible(tx, {...asker, id: asker.template})
    if (!(await findMember(tx, {org, person})))
      throw new Refusal('STAFF_VIEW', 'A schedule acts as whoever made it, and a view of an org is none of its members: let one make it')
    const id = newId('sch')
    const {enabled, ...written} = {...(await shape(tx, {org, template}, body)), enabled: body.enabled ?? true}
    if (enabled) await assertRoom(tx, org)
    const nextDueAt = enabled ? nextAfter(body, await readClock(tx)) : null
    const sealed = seal(config, id, body.source)
    const made = await insertSchedule(tx, {...written, ...sealed, id, org, template: template.id, person, enabled, nextDueAt})
    await keepNotify(tx, config, {org, schedule: id, notify: body.notify ?? null})
    await recordSchedule(tx, asker, {schedule: made, template}, {subject: 'schedule.created', before: null, after: contentOf(made)})
    return made
  })

/**
 * Its source's credentials stay where none are given and the place is the same. Turned on, what stopped it is taken to be mended. What was due
 * before the change is fired still: the clock may just not have come to it.
 */
export const replaceSchedule = ({db, config}: Tools, asker: NamedOne, body: ReplacedSchedule): Promise<Schedule> =>
  db.transaction(async tx => {
    assertTimes(body)
    const {org} = asker
    const {template, schedule} = await hold(tx, asker)
    await assertInterval(tx, org, body)
    const {id} = schedule
    const enabled = body.enabled ?? schedule.enabled
    if (enabled && !schedule.enabled) await assertRoom(tx, org)
    const nextDueAt = enabled ? nextOf(schedule, body) : null
    const source = merge(config, schedule, body.source)
    const sealed = seal(config, id, source)
    const changed = await updateSchedule(tx, {...(await shape(tx, {org, template}, body)), ...sealed, id, enabled, nextDueAt})
    await keepNotify(tx, config, {org, schedule: id, notify: body.notify ?? null})
    const after = {...contentOf(changed), sourceChanged: !isSame(config, schedule, source)}
    await recordSchedule(tx, asker, {schedule: changed, template}, {subject: 'schedule.changed', before: contentOf(schedule), after})
    return changed
  })

/** What was due while it was off is not made up for. */
export const setEnabled = ({db}: Pick<Tools, 'db'>, asker: NamedOne, enabled: boolean): Promise<Schedule> =>
  db.transaction(async tx => {
    const {template, schedule} = await hold(tx, asker)
    if (schedule.enabled === enabled) return schedule
    if (enabled) {
      await assertInterval(tx, asker.org, schedule)
      await assertRoom(tx, asker.org)
    }
    const nextDueAt = enabled ? nextAfter(schedule, schedule.now) : null
    const changed = await setScheduleEnabled(tx, {id: schedule.id, nextDueAt})
    const change = {subject: 'schedule.enabled', before: schedule.enabled, after: enabled}
    await recordSchedule(tx, asker, {schedule: changed, template}, change)
    return changed
  })

/** With its history. A run it has started goes on. */
export const removeSchedule = ({db}: Pick<Tools, 'db'>, asker: NamedOne): Promise<void> =>
  db.transaction(async tx => {
    const {template, schedule} = await hold(tx, asker)
    await deleteSchedule(tx, schedule.id)
    await recordSchedule(tx, asker, {schedule, template}, {subject: 'schedule.deleted', before: contentOf(schedule), after: null})
  })

const seal = ({SECRETS_KEYS: ring}: Config, id: string, given: FileSource) => {
  const {open: source, sealed: credentials} = sealSource(ring, given, id)
  return {source, credentials}
}

/** The org's row first, as whoever counts its schedules takes it. */
const hold = async (tx: Tx, {org, template: id, ...asker}: NamedOne) => {
  await lockOrg(tx, org)
  const template = await findVisible(tx, {org, ...asker, id})
  const schedule = (await lockSchedule(tx, {org, template: id, id: asker.id})) ?? noSchedule()
  assertVersion('schedule', schedule, asker.condition)
  return {template, schedule}
}

/** Under a key that was lost nothing opens: whoever gives the credentials again mends that. */
const merge = (config: Config, schedule: Schedule, change: ReplacedSchedule['source']): FileSource => {
  let before: FileSource
  try {
    before = sourceOf(config, schedule)
  } catch {
    return replaceLost(schedule.source as Described, change)
  }
  return mergeCredentials(before, change)
}

/** Under a key that was lost nothing can be compared, so it counts as changed. */
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

/** For one more that is on: those turned off take no room. The caller holds the org. */
const assertRoom = async (tx: Tx, org: string) => {
  const [{limits}, used] = [await findPlan(tx, org), await countEnabled(tx, org)]
  if (used < limits.schedules) return
  const says = `The plan has room for ${limits.schedules} schedules that are on: turn one off, or choose a plan with more`
  throw await countRefusal(tx, {org, code: 'LIMIT_SCHEDULES', limit: 'schedules', wanted: used + 1, used, says})
}

type Place = {org: string; template: TemplateRow}

const shape = async (tx: Tx, place: Place, body: Omit<NewSchedule, 'source'>) => {
  const {name, cron, timezone, declaredRows, onDrift} = body
  return {name, cron, timezone, declaredRows: declaredRows ?? null, onDrift, connectorId: await connectorOf(tx, place, body.connectorId)}
}

/** Only where the template leaves it open. */
const connectorOf = async (tx: Tx, {org, template}: Place, named: string | null | undefined): Promise<string | null> => {
  if (template.connectorId === null) return (await chooseConnector(tx, {org, id: named ?? undefined})).id
  if (named && named !== template.connectorId)
    throw new Refusal('INVALID', 'The template names another connection: leave connectorId out, or change the template')
  return null
}
