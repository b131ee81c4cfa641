import {findConnector} from '../../sql/connectors.ts'
import type {Db} from '../../sql/database.ts'
import {findMember} from '../../sql/members.ts'
import {isOpenOrg} from '../../sql/orgs.ts'
import {isBanned} from '../../sql/people.ts'
import {findPlan} from '../../sql/plans.ts'
import type {Reason, Schedule} from '../../sql/schedules.ts'
import type {TemplateRow} from '../../sql/templates.ts'
import {Refusal} from '../errors.ts'
import {isAtLeast, type Role} from '../people/roles.ts'
import {findVisible} from '../templates/find.ts'
import {isFrequent} from './cron.ts'

/** Somebody has to change something before it can fire again (`stops`), or this one time passes. */
export type Obstacle = {stops: boolean; reason: Reason}
/** Whom a schedule acts as, and with what. */
export type Ground = {person: string; template: TemplateRow; connector: string}

/** A schedule does what its creator may do at this moment, and nothing else. */
export const findGround = async (db: Db, schedule: Schedule): Promise<Ground | Obstacle> => {
  const {org, createdBy, templateId} = schedule
  if (!(await isOpenOrg(db, org))) return passes('ORG_CLOSED', 'The org was closed when this was due')
  const role = createdBy === null ? undefined : (await findMember(db, {org, person: createdBy}))?.role
  if (createdBy === null || role === undefined)
    return stops('CREATOR_LEFT', 'Whoever made this schedule is no longer a member of the org. Make it anew as somebody who is')
  if (await isBanned(db, createdBy))
    return stops('CREATOR_BLOCKED', 'The account of whoever made this schedule has been blocked. Make it anew')
  if (!isAtLeast(role, 'builder'))
    return stops('CREATOR_RANK', 'Whoever made this schedule is no longer a builder. Raise their role, or make it anew as a builder')
  if (isFrequent(schedule.cron) && !(await findPlan(db, org)).features.includes('frequent_schedules'))
    return stops(
      'FEATURE_FREQUENT_SCHEDULES',
      'The plan now allows a schedule every five minutes at most. Set a longer interval, then turn it on',
    )
  const template = await see(db, {org, person: createdBy, rank: role, id: templateId})
  if (!template) return stops('TEMPLATE_HIDDEN', 'Whoever made this schedule no longer sees its template. Have the template shared')
  const connector = await findOpenConnector(db, schedule, template)
  return typeof connector === 'string' ? {person: createdBy, template, connector} : connector
}

const findOpenConnector = async (db: Db, {org, connectorId}: Schedule, template: TemplateRow): Promise<string | Obstacle> => {
  const id = template.connectorId ?? connectorId
  const connector = id === null ? null : await findConnector(db, {org, id})
  if (!connector) return stops('CONNECTION_GONE', 'The template names no connection any more. Name one in the schedule')
  if (connector.state !== 'connected')
    return stops('CONNECTION_ENDED', 'The connection to the CRM has ended. Connect again, then turn the schedule on')
  if (connector.writesPaused) return passes('WRITES_PAUSED', 'Writes on the connection were paused when this was due')
  return connector.id
}

type Seen = {org: string; person: string; rank: Role; id: string}

const see = (db: Db, asker: Seen): Promise<TemplateRow | null> =>
  findVisible(db, asker).catch(error => {
    if (error instanceof Refusal && error.code === 'NOT_FOUND') return null
    throw error
  })

const stops = (code: string, message: string): Obstacle => ({stops: true, reason: {code, message}})
const passes = (code: string, message: string): Obstacle => ({stops: false, reason: {code, message}})
