import {findConnector} from '../../sql/connectors.ts'
import type {Db} from '../../sql/database.ts'
import type {Firing} from '../../sql/firings.ts'
import {findMember} from '../../sql/members.ts'
import {isOpenOrg} from '../../sql/orgs.ts'
import {isBanned} from '../../sql/people.ts'
import {findPlan} from '../../sql/plans.ts'
import {isTurnedOff, type Reason, type Schedule} from '../../sql/schedules.ts'
import type {TemplateRow} from '../../sql/templates.ts'
import {isAtLeast, type Role} from '../accounts/roles.ts'
import {Refusal} from '../errors.ts'
import {findVisible} from '../mapping/templates/find.ts'
import {assertSchedulable} from './assert-runnable.ts'
import {isFrequent} from './cron.ts'
import type {Described} from './fetch/main.ts'

/**
 * The reason why a schedule cannot fire. `stops`: true if the schedule stops until a person changes something, false if only this firing is skipped.
 */
export type Obstacle = {stops: boolean; reason: Reason}
/** The person in whose name a schedule acts, its template and its connection. */
export type ScheduleStatus = {person: string; template: TemplateRow; connector: string}

/** A schedule has exactly the current rights of its creator. Only a firing that a person started runs while the schedule is turned off. */
export const findScheduleStatus = async (db: Db, schedule: Schedule, {by}: Pick<Firing, 'by'>): Promise<ScheduleStatus | Obstacle> => {
  const {org, createdBy, id, templateId} = schedule
  if (by === 'clock' && (await isTurnedOff(db, id))) return passes('SCHEDULE_OFF', 'The schedule was turned off before its run started')
  if (!(await isOpenOrg(db, org))) return passes('ORG_CLOSED', 'The org was closed when this was due')
  const role = createdBy === null ? undefined : (await findMember(db, {org, person: createdBy}))?.role
  if (createdBy === null || role === undefined)
    return stops('CREATOR_LEFT', 'The creator of this schedule is no longer a member of the org. Create it again as a current member')
  if (await isBanned(db, createdBy))
    return stops('CREATOR_BLOCKED', 'The account of the creator of this schedule is blocked. Create it again as another member')
  if (!isAtLeast(role, 'builder'))
    return stops('CREATOR_RANK', 'The creator of this schedule is no longer a builder. Raise their role, or create it again as a builder')
  if (isFrequent(schedule.cron) && !(await findPlan(db, org)).features.includes('frequent_schedules'))
    return stops(
      'FEATURE_FREQUENT_SCHEDULES',
      'The plan now allows a schedule every five minutes at most. Set a longer interval, then turn it on',
    )
  const template = await readModules(db, {org, person: createdBy, rank: role, id: templateId})
  if (!template) return stops('TEMPLATE_HIDDEN', 'The creator of this schedule can no longer see its template. Have the template shared')
  const refusal = findRefusal(template, schedule)
  if (refusal) return stops(refusal.code, refusal.message)
  const connector = await findOpenConnector(db, schedule, template)
  return typeof connector === 'string' ? {person: createdBy, template, connector} : connector
}

const findOpenConnector = async (db: Db, {org, connectorId}: Schedule, template: TemplateRow): Promise<string | Obstacle> => {
  const id = template.connectorId ?? connectorId
  const connector = id === null ? null : await findConnector(db, {org, id})
  if (!connector) return stops('CONNECTION_GONE', 'The template no longer names a connection. Choose one in the schedule')
  if (connector.state !== 'connected')
    return stops('CONNECTION_ENDED', 'The connection to the CRM has ended. Connect again, then turn the schedule on')
  if (connector.writesPaused) return passes('WRITES_PAUSED', 'Writes on the connection were paused when this was due')
  return connector.id
}

/** The template may have changed since the schedule was created. */
const findRefusal = (template: TemplateRow, {source}: Schedule): Refusal | null => {
  try {
    assertSchedulable(template, source as Described)
    return null
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
}

type SeenGround = {org: string; person: string; rank: Role; id: string}

const readModules = (db: Db, seenGround: SeenGround): Promise<TemplateRow | null> =>
  findVisible(db, seenGround).catch(error => {
    if (error instanceof Refusal && error.code === 'NOT_FOUND') return null
    throw error
  })

const stops = (code: string, message: string): Obstacle => ({stops: true, reason: {code, message}})
const passes = (code: string, message: string): Obstacle => ({stops: false, reason: {code, message}})
