import type {Pool, Tx} from '../../sql/database.ts'
import {deleteMember, findMember, hasOwner, type MemberRow, readMember, setRole} from '../../sql/members.ts'
import {lockOrg} from '../../sql/orgs.ts'
import {countActiveTokens} from '../../sql/tokens.ts'
import {Refusal} from '../errors.ts'
import {type Author, recordChanges} from '../registry/change.ts'
import {isAtLeast, lowerOf, type Role} from './roles.ts'
import {endTokensOf} from './token.ts'

/** Who changes a membership, and the rank they ask with. A staff member's view of the org needs no membership. */
export type Actor = Author & {person: string; role: Role; staffView?: object | null}

type RoleInput = {id: string; role: Role; roleSource: MemberRow['roleSource']; revokeTokens: boolean}

/**
 * Nobody grants a role above their own, or takes one from a member above them. A demoted member's API tokens keep the admin role until they
 * are revoked: `activeTokens` says how many work.
 */
export const changeRole = (
  db: Pool,
  actor: Actor,
  {id, role, roleSource, revokeTokens}: RoleInput,
): Promise<{member: MemberRow; activeTokens: number}> =>
  db.transaction(async tx => {
    const {member, rank} = await holdMember(tx, actor, id)
    if (!isAtLeast(rank, role)) throw new Refusal('ROLE_REQUIRED', `Only an owner who signed in makes an ${role} of somebody`)
    await setRole(tx, {id, role, isManual: roleSource === 'manual'})
    if (member.role !== role) await settle(tx, actor, member, role)
    const creator = {org: actor.org, person: member.personId}
    if (revokeTokens) await revokeTokensFor(tx, actor, creator)
    return {member: {...member, role, roleSource}, activeTokens: await countActiveTokens(tx, creator)}
  })

/** For those who may revoke one token by its own route. */
const revokeTokensFor = async (tx: Tx, actor: Actor, {person}: {org: string; person: string}) => {
  const {via, staffView} = actor
  if (via !== 'session') throw new Refusal('SESSION_REQUIRED', 'An API token cannot revoke API tokens. Sign in')
  if (staffView) throw new Refusal('STAFF_VIEW', 'A staff view cannot revoke API tokens. Ask an admin of the org')
  await endTokensOf(tx, actor, person)
}

/** Their sessions and API tokens end with the membership. */
export const removeMember = (db: Pool, actor: Actor, id: string): Promise<MemberRow> =>
  db.transaction(async tx => {
    const {member} = await holdMember(tx, actor, id)
    await deleteMember(tx, id)
    await settle(tx, actor, member, null)
    return member
  })

/** An org always has an owner. For whoever holds its row, after they took the rank from one. */
export const assertOwned = async (tx: Tx, org: string): Promise<void> => {
  if (!(await hasOwner(tx, org))) throw new Refusal('LAST_OWNER', 'This is the only owner of the org: make somebody else an owner first')
}

type RoleChange = {person: string; before: Role | null; after: Role | null}

export const recordRole = (tx: Tx, author: Author, {person, before, after}: RoleChange): Promise<void> =>
  recordChanges(tx, author, [{page: 'members', subject: 'member.role', targetPerson: person, before, after}])

/**
 * The rank somebody changes the org's members with, for whoever holds its row: of two who change each other the second is asked again.
 * An API token is always an admin at the gates; nobody uses one they kept from better days to raise themselves here.
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
  if (!isAtLeast(rank, member.role)) throw new Refusal('ROLE_REQUIRED', 'Only an owner who signed in changes or removes an owner')
  return {member, rank}
}

const settle = async (tx: Tx, actor: Actor, {personId: person, role: before}: MemberRow, after: Role | null) => {
  if (before === 'owner') await assertOwned(tx, actor.org)
  await recordRole(tx, actor, {person, before, after})
}
