import type {Tx} from '../../sql/database.ts'
import {deleteEmbedTokensOf} from '../../sql/embed-tokens.ts'
import {findInvited, findMember, hasMembers, isMemberAt, keepMember} from '../../sql/members.ts'
import {keepOrg} from '../../sql/orgs.ts'
import {keepPerson} from '../../sql/people.ts'
import {deleteSessionsIn} from '../../sql/sessions.ts'
import type {Config} from '../config.ts'
import {Refusal} from '../errors.ts'
import {newId} from '../ids.ts'
import type {Identity} from './identity-provider.ts'
import {assertOwned, type RoleSourceChange, recordRole} from './member.ts'
import type {Role} from './roles.ts'
import {isStaffNow} from './staff.ts'
import {endTokensOf} from './tokens.ts'

/**
 * The result of a sign-in. `isGuest`: the membership does not come from the CRM org of the sign-in. The person is a member by invitation or has
 * no org.
 */
export type SignedIn = {person: string; org: string | null; role: Role | null; isGuest: boolean; isStaff: boolean}

/**
 * Finds or creates the person of an identity, and the membership in the org of the identity's CRM org. Without a CRM org, the result has the org of
 * the person's latest invitation, or none. The same applies to staff who are not members of that org: a sign-in for support must not create a
 * membership.
 */
export const admitPerson = async (
  tx: Tx,
  {DEFAULT_PLAN: plan}: Pick<Config, 'DEFAULT_PLAN'>,
  {dc, subject, email, name, crmOrg, isAdministrator}: Identity,
): Promise<SignedIn> => {
  const person = await keepPerson(tx, {id: newId('per'), subject, email, name})
  if (person.bannedAt !== null) throw new Refusal('BANNED', 'This account has been blocked. Contact support if you think that is a mistake')
  const isStaff = await isStaffNow(tx, person)
  if (!crmOrg || (isStaff && !(await isMemberAt(tx, {dc, crmOrgId: crmOrg.id, person: person.id}))))
    return {person: person.id, ...((await findInvited(tx, person.id)) ?? {org: null, role: null}), isGuest: true, isStaff}
  const {id: crmOrgId, name: orgName, sandbox} = crmOrg
  const org = await keepOrg(tx, {id: newId('org'), name: orgName, dc, crmOrgId, sandbox, plan})
  const role = await roleIn(tx, {org, person: person.id, isAdministrator})
  await giveRole(tx, {org: org.id, person: person.id, role})
  return {person: person.id, org: org.id, role, isGuest: false, isStaff}
}

/** `source`: the change of the source of the role, if the caller stores one. */
type GivenRole = {org: string; person: string; role: Role; source?: RoleSourceChange | null}

/**
 * Makes a person a member, or updates the role, after a sign-in, a refresh or an invitation. The person is the author of the change. The caller
 * holds the org's row lock. For a new member, ends sessions and tokens of a former membership.
 */
export const giveRole = async (tx: Tx, {org, person, role, source = null}: GivenRole): Promise<void> => {
  const before = (await findMember(tx, {org, person}))?.role ?? null
  if (before === null) {
    await endTokensOf(tx, {org, via: 'session', person}, person)
    await deleteEmbedTokensOf(tx, {org, person})
    await deleteSessionsIn(tx, {org, person})
  }
  if (before !== role) await keepMember(tx, {id: newId('mem'), org, person, role})
  if (before === 'owner' && role !== 'owner') await assertOwned(tx, org)
  await recordRole(tx, {org, via: 'session', person}, {person, before, after: role, source})
}

/**
 * Returns a member's role after a sign-in. The first member becomes the owner. Owners and roles set in Lading stay. If the org follows the CRM's
 * roles, other members get `admin` or `operator`. If not, a member keeps the role, and a new member becomes an operator.
 */
const roleIn = async (
  tx: Tx,
  {org, person, isAdministrator}: {org: {id: string; followsCrmRoles: boolean}; person: string; isAdministrator: boolean},
) => {
  const member = await findMember(tx, {org: org.id, person})
  if (member?.role === 'owner' || !(await hasMembers(tx, org.id))) return 'owner'
  if (org.followsCrmRoles && !member?.isManual) return isAdministrator ? 'admin' : 'operator'
  return member?.role ?? 'operator'
}
