import type {Pool} from '../../sql/database.ts'
import {holdMember} from '../../sql/members.ts'
import {lockPerson} from '../../sql/people.ts'
import {listReachable, moveSession} from '../../sql/sessions.ts'
import type {Crm} from '../crm/crm.ts'
import {Refusal} from '../errors.ts'
import type {Log} from '../telemetry/log.ts'
import {followCrmUser} from './follow.ts'
import type {Role} from './roles.ts'

type SwitchInput = {person: string; session: string; org: string; signal: AbortSignal}

/**
 * Moves a session to another org of its person and returns the role there. The org must have invited the person, or its CRM must have admitted
 * the person at this sign-in. Like a refresh, this reads the CRM user first; an inactive user is refused.
 */
export const switchOrg = async (deps: {db: Pool; crm: Crm; log: Log}, {person, session, org, signal}: SwitchInput): Promise<Role> => {
  if (!(await listReachable(deps.db, {person, session})).some(({id}) => id === org)) throw notReachable()
  if (!(await followCrmUser(deps, {org, person, signal})).isActive) throw notReachable()
  return deps.db.transaction(async tx => {
    await lockPerson(tx, person)
    const member = await holdMember(tx, {org, person})
    if (!member) throw notReachable()
    const {rowCount} = await moveSession(tx, {id: session, org, role: member.role})
    if (rowCount === 0) throw new Refusal('AUTH_REQUIRED', 'The session has ended. Sign in again')
    return member.role
  })
}

const notReachable = () => new Refusal('NOT_FOUND', 'You cannot switch to this org. GET /auth/orgs lists the orgs of your session')
