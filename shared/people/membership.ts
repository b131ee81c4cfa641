import type {Tx} from '../../sql/database.ts'
import {findMember, hasMembers, keepMember} from '../../sql/members.ts'
import {keepOrg} from '../../sql/orgs.ts'
import {keepPerson} from '../../sql/people.ts'
import {Refusal} from '../errors.ts'
import {newId} from '../ids.ts'
import type {Identity} from './identity-provider.ts'
import type {Role} from './roles.ts'

export type SignedIn = {person: string; org: string | null; role: Role | null}

/** The person of an identity, and their place in the org of the CRM org they came from; no org where they have none. */
export const admitPerson = async (tx: Tx, {dc, subject, email, name, crmOrg, isAdministrator}: Identity): Promise<SignedIn> => {
  const person = await keepPerson(tx, {id: newId('per'), subject, email, name})
  if (person.banned) throw new Refusal('BANNED', 'This account has been blocked. Write to support if you think that is a mistake')
  if (!crmOrg) return {person: person.id, org: null, role: null}
  const org = await keepOrg(tx, {id: newId('org'), name: crmOrg.name, dc, crmOrgId: crmOrg.id})
  const role = await roleIn(tx, {org, person: person.id, isAdministrator})
  await keepMember(tx, {id: newId('mem'), org: org.id, person: person.id, role})
  return {person: person.id, org: org.id, role}
}

/** The first member is owner, and an owner stays one. Everybody else is what the CRM says, where the org follows it. */
const roleIn = async (
  tx: Tx,
  {org, person, isAdministrator}: {org: {id: string; followsCrmRoles: boolean}; person: string; isAdministrator: boolean},
) => {
  const member = await findMember(tx, {org: org.id, person})
  if (member?.role === 'owner' || !(await hasMembers(tx, org.id))) return 'owner'
  if (org.followsCrmRoles) return isAdministrator ? 'admin' : 'operator'
  return member?.role ?? 'operator'
}
