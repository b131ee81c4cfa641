import type {Pool, Tx} from '../../sql/database.ts'
import {deleteEmbedTokensOf} from '../../sql/embed-tokens.ts'
import {findFollowed, findMember, markUninvited} from '../../sql/members.ts'
import {revokeGrantsOf} from '../../sql/oauth-grants.ts'
import {lockOrg} from '../../sql/orgs.ts'
import {deleteSessionsIn} from '../../sql/sessions.ts'
import type {Crm} from '../crm/crm.ts'
import type {Log} from '../telemetry/log.ts'
import {giveRole} from './membership.ts'
import type {Role} from './roles.ts'
import {endTokensOf} from './tokens.ts'

type FollowDeps = {db: Pool; crm: Crm; log: Log}
type FollowInput = {org: string; person: string; signal: AbortSignal}

const askForMs = 5000

/**
 * Reads the member's CRM user, if the org follows the CRM's roles and is connected to its own CRM org. If the user is active, stores the role,
 * unless the member is an owner or has a role set in Lading. If the user is inactive or missing, ends the member's access to the org. Nothing
 * changes if the CRM does not answer, or if an invited member has no CRM user.
 */
export const followCrmUser = async ({db, crm, log}: FollowDeps, {org, person, signal}: FollowInput): Promise<{isActive: boolean}> => {
  const followed = await findFollowed(db, {org, person})
  if (!followed) return {isActive: true}
  const found = await findUser({crm, log}, followed, signal)
  if (found === 'unknown') return {isActive: true}
  // A member by invitation may have no user in this CRM.
  if (found === null && followed.invited) return {isActive: true}
  if (!found?.isActive) await db.transaction(tx => endAccess(tx, {org, person}))
  else await db.transaction(tx => applyCrmRole(tx, {org, person, role: found.isAdministrator ? 'admin' : 'operator'}))
  return {isActive: found?.isActive ?? false}
}

const findUser = async (
  {crm, log}: Pick<FollowDeps, 'crm' | 'log'>,
  {connector, zuid}: {connector: string; zuid: string},
  signal: AbortSignal,
) => {
  try {
    const connection = await crm.open(connector)
    return await connection.findUser(zuid, {signal: AbortSignal.any([signal, AbortSignal.timeout(askForMs)])})
  } catch (error) {
    log.info({err: error, connector}, 'could not read the CRM user of a member')
    return 'unknown'
  }
}

/** Stores the role from the CRM, unless the membership changed during the call to the CRM. Owners and roles set in Lading stay. */
const applyCrmRole = async (tx: Tx, {org, person, role}: {org: string; person: string; role: Role}) => {
  const place = await lockOrg(tx, org)
  const member = await findMember(tx, {org, person})
  if (place?.followsCrmRoles && member && member.role !== 'owner' && !member.isManual) await giveRole(tx, {org, person, role})
}

/** Ends the member's sessions, tokens and grants. The membership stays, so that a reactivated person signs in with the former role. */
const endAccess = async (tx: Tx, member: {org: string; person: string}) => {
  await lockOrg(tx, member.org)
  await markUninvited(tx, member)
  await deleteSessionsIn(tx, member)
  // The person is the author, as of a role from the CRM.
  await endTokensOf(tx, {...member, via: 'session'}, member.person)
  await deleteEmbedTokensOf(tx, member)
  await revokeGrantsOf(tx, member, 'crm')
}
