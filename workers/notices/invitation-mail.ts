import {mailLimits} from '../../shared/accounts/invitation.ts'
import {writeInvitation} from '../../shared/accounts/invitation-letter.ts'
import {type Mailer, MailFailure} from '../../shared/notifications/mail.ts'
import {findMailable, markMailDone} from '../../sql/invitations.ts'
import type {Work} from '../worker.ts'

/**
 * Mails an invitation that can still be accepted, unless `mailLimits` forbids it. After a crash, the invitation may be mailed twice, with the same
 * Message-ID. Returns whether it was mailed. A temporary failure is thrown, so that the job is retried.
 */
export const mailInvitation = async ({db, config, log}: Work, mailer: Mailer, {org, id}: {org: string; id: string}): Promise<boolean> => {
  const found = await findMailable(db, {org, id, ...mailLimits})
  if (!found) {
    await markMailDone(db, {org, id, isMailed: false})
    return false
  }
  const {hostname} = new URL(config.PUBLIC_URL)
  const letter = writeInvitation({...found, publicUrl: config.PUBLIC_URL})
  try {
    await mailer.send({to: found.email, ...letter, messageId: `<${id}.${Date.parse(found.expiresAt)}@${hostname}>`})
  } catch (error) {
    if (!(error instanceof MailFailure && error.isFinal)) throw error
    await markMailDone(db, {org, id, isMailed: false})
    log.info({org, invitation: id, failure: error.message}, 'invitation not mailed')
    return false
  }
  await markMailDone(db, {org, id, isMailed: true})
  log.info({org, invitation: id}, 'invitation mailed')
  return true
}
