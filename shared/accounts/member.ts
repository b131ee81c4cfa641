import type {Pool, Tx} from '../../sql/database.ts'
import {deleteMember, findMember, hasOwner, type MemberRow, readMember, setRole} from '../../sql/members.ts'
import {revokeGrantsOf} from '../../sql/oauth-grants.ts'
import {lockOrg} from '../../sql/orgs.ts'
import {countActiveTokens} from '../../sql/tokens.ts'
import {type Author, recordChanges} from '../configuration/change.ts'
import {Refusal} from '../errors.ts'
import {isAtLeast, lowerOf, type Role} from './roles.ts'
import {endTokensOf} from './tokens.ts'

/** The author of a membership change, with the role of the request. A staff view of the org needs no membership. */
export type Actor = Author & {person: string; role: Role}

type RoleInput = {id: string; role: Role; roleSource: MemberRow['roleSource']; revokeTokens: boolean}

/**
 * Changes a member's role. An actor can neither grant a role above their own nor change a higher member. API tokens of a demoted member keep the
 * admin role until their revocation. `activeTokens` is the number of the member's tokens that are still active.
 */
export const changeRole = (
  db: Pool,
  actor: Actor,
  {id, role, roleSource, revokeTokens}: RoleInput,
): Promise<{member: MemberRow; activeTokens: number}> =>
  db.transaction(async tx => {
    const {member, rank} = await holdMember(tx, actor, id)
    if (!isAtLeast(rank, role)) throw new Refusal('ROLE_REQUIRED', `Only an owner with a session can grant the role ${role}`)
    await setRole(tx, {id, role, isManual: roleSource === 'manual'})
    await settle(tx, actor, member, role, {before: member.roleSource, after: roleSource})
    const creator = {org: actor.org, person: member.personId}
    if (revokeTokens) await revokeTokensFor(tx, actor, creator)
    return {member: {...member, role, roleSource}, activeTokens: await countActiveTokens(tx, creator)}
  })

const revokeTokensFor = async (tx: Tx, actor: Actor, {person}: {org: string; person: string}) => {
  const {via, staffView} = actor
  if (via !== 'session') throw new Refusal('SESSION_REQUIRED', 'An API token cannot revoke API tokens. Sign in')
  if (staffView) throw new Refusal('STAFF_VIEW', 'A staff view cannot revoke API tokens. Ask an admin of the org')
  await endTokensOf(tx, actor, person)
}

/** Removes a member. The member's sessions, API tokens and MCP clients end with the membership. */
export const removeMember = (db: Pool, actor: Actor, id: string): Promise<MemberRow> =>
  db.transaction(async tx => {
    const {member} = await holdMember(tx, actor, id)
    await endTokensOf(tx, actor, member.personId)
    await revokeGrantsOf(tx, {org: actor.org, person: member.personId}, 'removal', actor.via)
    await deleteMember(tx, id)
    await settle(tx, actor, member, null)
    return member
  })

/** Throws LAST_OWNER if the org has no owner left. Call this under the org's row lock after an owner lost the role. */
export const assertOwned = async (tx: Tx, org: string): Promise<void> => {
  if (!(await hasOwner(tx, org))) throw new Refusal('LAST_OWNER', 'This is the only owner of the org. Make another member an owner first')
}

type RoleSource = MemberRow['roleSource']
export type RoleSourceChange = {before: RoleSource; after: RoleSource}
type RoleChange = {person: string; before: Role | null; after: Role | null; source?: RoleSourceChange | null}

/** Records a member's role and its source. A value that did not change is not recorded. */
export const recordRole = (tx: Tx, author: Author, {person: targetPerson, source, ...role}: RoleChange): Promise<void> => {
  const changes = [{subject: 'member.role', ...role}, ...(source ? [{subject: 'member.roleSource', ...source}] : [])]
  const changed = changes.filter(({before, after}) => before !== after)
  return recordChanges(
    tx,
    author,
    changed.map(change => ({page: 'members', targetPerson, ...change})),
  )
}

/**
 * Returns the role with which an actor may change members: the lower of the request's role and the actor's present role. For an API token, the actor
 * is its creator. A staff view keeps the request's role. Call this under the org's row lock: if two members demote each other, the second change is
 * then refused.
 */
export const rankNow = async (tx: Tx, {org, person, role, staffView}: Actor): Promise<Role> => {
  if (staffView) return role
  const now = await findMember(tx, {org, person})
  if (!now) throw new Refusal('MEMBERSHIP_GONE', 'The member of this bearer is gone')
  if (!isAtLeast(now.role, 'admin')) throw new Refusal('ROLE_REQUIRED', 'This needs the admin role, which you no longer have')
  return lowerOf(role, now.role)
}

const holdMember = async (tx: Tx, actor: Actor, id: string) => {
  await lockOrg(tx, actor.org)
  const rank = await rankNow(tx, actor)
  const member = await readMember(tx, {org: actor.org, id})
  if (!member) throw new Refusal('NOT_FOUND', 'No such member')
  if (!isAtLeast(rank, member.role)) throw new Refusal('ROLE_REQUIRED', 'Only an owner with a session can change or remove an owner')
  return {member, rank}
}

type SettledMember = Pick<MemberRow, 'personId' | 'role'>

const settle = async (tx: Tx, actor: Actor, {personId, role}: SettledMember, after: Role | null, source?: RoleSourceChange) => {
  if (role === 'owner') await assertOwned(tx, actor.org)
  await recordRole(tx, actor, {person: personId, before: role, after, ...(source && {source})})
}
