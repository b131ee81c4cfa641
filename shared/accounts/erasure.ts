import {forgetAuditDevices} from '../../sql/audit-events.ts'
import {forgetPayer} from '../../sql/billing-accounts.ts'
import type {Pool, Tx} from '../../sql/database.ts'
import {deleteInvitationsTo} from '../../sql/invitations.ts'
import {listLastOwned, listOrgsOf, promoteHeir} from '../../sql/last-owners.ts'
import {findMember} from '../../sql/members.ts'
import {revokeGrantsOf} from '../../sql/oauth-grants.ts'
import {lockClosing, setErasing} from '../../sql/org-closing.ts'
import {lockOrg} from '../../sql/orgs.ts'
import {deletePerson, lockPerson} from '../../sql/people.ts'
import {forgetDevices} from '../../sql/sessions.ts'
import {forgetStaffAddress} from '../../sql/staff-accounts.ts'
import {Refusal} from '../errors.ts'
import {eraseOrg} from '../jobs.ts'
import {enqueue, type Queue} from '../queue.ts'
import {normaliseAddress} from './address.ts'
import {recordRole} from './member.ts'
import {recordStaffAction} from './staff-action.ts'
import {endTokensOf} from './tokens.ts'

/**
 * Closes an org for good and enqueues its erasure. Returns the id of the job: the new one, or that of an erasure already in progress. Null if
 * that job ended just now.
 */
export const beginOrgErasure = (db: Pool, queue: Queue, {org, reason}: {org: string; reason: string}): Promise<string | null> =>
  db.transaction(async tx => {
    const found = await lockClosing(tx, org)
    if (!found) throw new Refusal('NOT_FOUND', 'No such org, or it is already erased')
    if (found.erasingAt === null) await recordStaffAction(tx, null, {kind: 'erase', org, reason})
    await setErasing(tx, org)
    return enqueue(queue, eraseOrg, {org}, {tx, track: false})
  })

type Heir = {org: string; person: string}

/**
 * Erases a person: the memberships, the API tokens, the invitations to the person's address, the devices, and the row with names and addresses.
 * Objects that the person created stay, without a name. If the person is the only owner of an org with other members, throws LAST_OWNER. With
 * `force`, makes the other member with the highest role an owner instead. Returns these new owners.
 */
export const erasePerson = (db: Pool, id: string, {force, reason}: {force: boolean; reason?: string | undefined}): Promise<Heir[]> =>
  db.transaction(async tx => {
    const person = await lockPerson(tx, id)
    if (!person) throw new Refusal('NOT_FOUND', 'No such person, or the person is already erased')
    const orgs = await listOrgsOf(tx, id)
    for (const org of orgs) await lockOrg(tx, org)
    const heirs = await settleOwners(tx, id, force)
    for (const org of orgs) await endMembership(tx, {org, person: id})
    const address = normaliseAddress(person.email)
    await deleteInvitationsTo(tx, address)
    await forgetStaffAddress(tx, address)
    await forgetPayer(tx, address)
    await forgetDevices(tx, id)
    await forgetAuditDevices(tx, id)
    // The record contains the person's roles, so it is written before the memberships are deleted.
    await recordStaffAction(tx, null, {kind: 'person.delete', person: id, reason, detail: {heirs}})
    await deletePerson(tx, id)
    return heirs
  })

const settleOwners = async (tx: Tx, person: string, force: boolean): Promise<Heir[]> => {
  const orgs = await listLastOwned(tx, person)
  if (orgs.length > 0 && !force) {
    const says = 'This person is the only owner of an org with other members. Make another member an owner, or send `force`'
    throw new Refusal('LAST_OWNER', says, {orgs})
  }
  const heirs: Heir[] = []
  for (const {id: org} of orgs) {
    const {person: heir, before} = await promoteHeir(tx, {org, person})
    await recordRole(tx, {org, via: 'staff'}, {person: heir, before, after: 'owner'})
    heirs.push({org, person: heir})
  }
  return heirs
}

/**
 * Revokes the API tokens and the MCP clients, and records the end of the membership. `deletePerson` then deletes the membership, and the record
 * names no person.
 */
const endMembership = async (tx: Tx, {org, person}: Heir) => {
  const member = await findMember(tx, {org, person})
  await endTokensOf(tx, {org, via: 'staff'}, person)
  await revokeGrantsOf(tx, {org, person}, 'removal', 'staff')
  if (member) await recordRole(tx, {org, via: 'staff'}, {person, before: member.role, after: null})
}
