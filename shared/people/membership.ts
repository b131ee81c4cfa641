import type {Tx} from '../../sql/database.ts'
import {findInvited, findMember, hasMembers, isMemberAt, keepMember} from '../../sql/members.ts'
import {keepOrg} from '../../sql/orgs.ts'
import {keepPerson} from '../../sql/people.ts'
import {deleteSessionsIn} from '../../sql/sessions.ts'
import type {Config} from '../config.ts'
import {Refusal} from '../errors.ts'
import {newId} from '../ids.ts'
import type {Identity} from './identity-provider.ts'
import {assertOwned, recordRole} from './member.ts'
import type {Role} from './roles.ts'
import {isStaffNow} from './staff.ts'
import {endTokensOf} from './token.ts'

/** `isGuest`: not let in by the CRM of the org, but by an invitation, or nowhere. */
export type SignedIn = {person: string; org: string | null; role: Role | null; isGuest: boolean}

/**
 * The person of an identity, and their place in the org of the CRM org they came from. Staff are let into an org they are a member
 * of already and become nobody's member by signing in: a CRM that lets them in to help has not asked for that. Who has no place there
 * is where they were invited to, or nowhere: a membership that came from a CRM is worth nothing once that CRM does not let them in.
 */
export const admitPerson = async (
  tx: Tx,
  {DEFAULT_PLAN: plan}: Pick<Config, 'DEFAULT_PLAN'>,
  {dc, subject, email, name, crmOrg, isAdministrator}: Identity,
): Promise<SignedIn> => {
  const person = await keepPerson(tx, {id: newId('per'), subject, email, name})
  if (person.bannedAt !== null)
    throw new Refusal('BANNED', 'This account has been blocked. Write to support if you think that is a mistake')
  const isStaff = await isStaffNow(tx, person)
  if (!crmOrg || (isStaff && !(await isMemberAt(tx, {dc, crmOrgId: crmOrg.id, person: person.id}))))
    return {person: person.id, ...((await findInvited(tx, person.id)) ?? {org: null, role: null}), isGuest: true}
  const {id: crmOrgId, name: orgName, sandbox} = crmOrg
  const org = await keepOrg(tx, {id: newId('org'), name: orgName, dc, crmOrgId, sandbox, plan})
  const role = await roleIn(tx, {org, person: person.id, isAdministrator})
  await giveRole(tx, {org: org.id, person: person.id, role})
  return {person: person.id, org: org.id, role, isGuest: false}
}

/**
 * Makes somebody a member, or gives a member the role they come with: by sign-in, refresh or invitation, so they are the author of the
 * change. For a transaction that holds the org's row. Sessions and API tokens of a former membership do not work again with a new one.
 */
export const giveRole = async (tx: Tx, {org, person, role}: {org: string; person: string; role: Role}): Promise<void> => {
  const before = (await findMember(tx, {org, person}))?.role ?? null
  if (before === role) return
  if (before === null) {
    await endTokensOf(tx, {org, via: 'session', person}, person)
    await deleteSessionsIn(tx, {org, person})
  }
  await keepMember(tx, {id: newId('mem'), org, person, role})
  if (before === 'owner') await assertOwned(tx, org)
  await recordRole(tx, {org, via: 'session', person}, {person, before, after: role})
}

/** The first member is owner, and an owner stays one. A role set in Lading stays; any other is the CRM's, where the org follows it. */
const roleIn = async (
  tx: Tx,
  {org, person, isAdministrator}: {org: {id: string; followsCrmRoles: boolean}; person: string; isAdministrator: boolean},
) => {
  const member = await findMember(tx, {org: org.id, person})
  if (member?.role === 'owner' || !(await hasMembers(tx, org.id))) return 'owner'
  if (org.followsCrmRoles && !member?.isManual) return isAdministrator ? 'admin' : 'operator'
  return member?.role ?? 'operator'
}
