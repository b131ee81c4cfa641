import {setTimeout as pause} from 'node:timers/promises'
import type {Pool, Tx} from '../../sql/database.ts'
import {
  findInvitation,
  findMailable,
  type InvitationStatus,
  keepInvitation,
  markMailQueued,
  readInvitationStatus,
  spendInvitation,
  withdrawInvitation,
} from '../../sql/invitations.ts'
import {lockMember, markInvited} from '../../sql/members.ts'
import {lockOrg} from '../../sql/orgs.ts'
import {moveSession} from '../../sql/sessions.ts'
import type {Config} from '../config.ts'
import {type Author, type Change, recordChanges} from '../configuration/change.ts'
import {Refusal} from '../errors.ts'
import {newId} from '../ids.ts'
import {mailInvitation} from '../jobs.ts'
import {enqueue, type Queue} from '../queue.ts'
import {normaliseAddress} from './address.ts'
import {type Actor, rankNow} from './member.ts'
import {giveRole} from './membership.ts'
import {isAtLeast, type Role} from './roles.ts'

const lifeDays = 14
/**
 * The limits on e-mails of invitations. `mostPerDay`: e-mails of an org in a day. `againAfterSeconds`: the minimum time between two e-mails of one
 * invitation.
 */
export const mailLimits = {mostPerDay: 100, againAfterSeconds: 3_600}

type InviteDeps = {db: Pool; queue: Queue; config: Pick<Config, 'SMTP_URL'>}

/**
 * Invites an address into the actor's org. A second invitation to the same address replaces the role and the expiry of the first. If a mail
 * server is configured and `mailLimits` allows it, a job sends an e-mail.
 */
export const invite = ({db, queue, config}: InviteDeps, actor: Actor, {email, role}: {email: string; role: Role}) =>
  db.transaction(async tx => {
    await lockOrg(tx, actor.org)
    if (!isAtLeast(await rankNow(tx, actor), role)) throw new Refusal('ROLE_REQUIRED', `Only an owner with a session can invite an ${role}`)
    const {org, person} = actor
    const kept = await keepInvitation(tx, {id: newId('inv'), org, email: normaliseAddress(email), role, person, days: lifeDays})
    await recordInvitation(tx, actor, {subject: 'invitation.sent', before: null, after: {invitationId: kept.id, role}})
    const isMailed = config.SMTP_URL !== undefined && (await findMailable(tx, {org, id: kept.id, ...mailLimits})) !== null
    if (isMailed) {
      await markMailQueued(tx, {org, id: kept.id})
      await enqueue(queue, mailInvitation, {org, invitation: kept.id}, {tx})
    }
    return {invitation: kept, isMailed}
  })

/** Withdraws an invitation. A second withdrawal changes nothing and is not recorded. */
export const withdraw = (db: Pool, author: Author, id: string) =>
  db.transaction(async tx => {
    const {org} = author
    await lockOrg(tx, org)
    const before = await findInvitation(tx, {org, id})
    if (!before) throw new Refusal('NOT_FOUND', 'No such invitation')
    const withdrawn = await withdrawInvitation(tx, {org, id})
    if (!withdrawn) throw refusals.used()
    const {role, state} = before
    if (state === 'withdrawn') return withdrawn
    await recordInvitation(tx, author, {subject: 'invitation.withdrawn', before: {invitationId: id, role}, after: null})
    return withdrawn
  })

/**
 * Records a change with the invitation's id instead of the address. The invited person may never sign in, so no account exists whose erasure
 * would remove the address.
 */
const recordInvitation = (tx: Tx, author: Author, change: Pick<Change, 'subject' | 'before' | 'after'>) =>
  recordChanges(tx, author, [{page: 'members', ...change}])

const tries = 3
const waitAtMostMs = 25

type InvitedPerson = {person: string; email: string; session: string}

/**
 * Joins the org with the invited role, which replaces the member's present role, and moves the session to the org. If the membership changes
 * concurrently, the call is tried again. After three conflicts, the function throws MEMBERSHIP_CHANGING, and the invitation stays pending.
 */
export const acceptInvitation = async (db: Pool, invited: InvitedPerson, id: string): Promise<Role> => {
  const {person} = invited
  for (let attempt = 1; attempt <= tries; attempt++) {
    const read = await readInvitationStatus(db, {id, person, email: normaliseAddress(invited.email)})
    if (!read) throw new Refusal('NOT_FOUND', 'No such invitation')
    if (read.state !== 'pending') throw refusals[read.state]()
    if (read.closed) throw new Refusal('ORG_CLOSED', 'This org is closed. The invitation stays valid for when the org opens again', {}, 409)
    if (await db.transaction(tx => joinOrg(tx, invited, {...read, id}))) return read.role
    await pause(Math.random() * waitAtMostMs)
  }
  throw new Refusal('MEMBERSHIP_CHANGING', 'Your membership of this org is being changed at the moment. Try again in a moment')
}

const refusals = {
  used: () => new Refusal('INVITATION_USED', 'This invitation was already accepted'),
  withdrawn: () => new Refusal('INVITATION_WITHDRAWN', 'This invitation was withdrawn. Ask for another one'),
  expired: () => new Refusal('INVITATION_EXPIRED', 'This invitation has expired. Ask for another one'),
}

/**
 * Makes the person a member and uses up the invitation. Returns false and writes nothing if the org, the membership or the invitation changed
 * since the caller read them. Throws AUTH_REQUIRED if the session has ended.
 */
const joinOrg = async (tx: Tx, {person, session}: InvitedPerson, {id, org, role, membership}: InvitationStatus & {id: string}) => {
  const place = await lockOrg(tx, org)
  const member = await lockMember(tx, {org, person})
  if (!place || place.closed || (member?.version ?? null) !== membership) return false
  if (!(await spendInvitation(tx, {id, role}))) return false
  await giveRole(tx, {org, person, role, source: member && {before: member.isManual ? 'manual' : 'crm', after: 'manual'}})
  await markInvited(tx, {org, person})
  const {rowCount} = await moveSession(tx, {id: session, org, role})
  if (rowCount === 0) throw new Refusal('AUTH_REQUIRED', 'The session has ended. Sign in again, then accept the invitation')
  return true
}
