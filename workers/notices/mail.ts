import {atPoint} from '../../shared/fault-point.ts'
import {waitAfter} from '../../shared/notifications/attempts.ts'
import type {Body} from '../../shared/notifications/compose.ts'
import {writeLetter} from '../../shared/notifications/letter.ts'
import {type Mailer, MailFailure} from '../../shared/notifications/mail.ts'
import {claimLetter, type Letter, markDelivered, markFailed} from '../../sql/deliveries.ts'
import type {WorkerDeps} from '../deps.ts'

/** The seconds for which a mail is claimed, longer than the timeout of a mail server. */
const claimSeconds = 120

export const claimNext = ({db}: WorkerDeps): Promise<Letter | null> => claimLetter(db, {seconds: claimSeconds})

/** Mails a claimed notice. If it is sent twice, both mails have the same Message-ID. */
export const mailClaimed = async (deps: WorkerDeps, mailer: Mailer, letter: Letter): Promise<void> => {
  const {id, attempt} = letter
  const failure = await send(deps, mailer, letter)
  atPoint('after_notice')
  const tried = {id, attempt, status: null, error: failure?.message ?? null, answer: null}
  if (!failure) await markDelivered(deps.db, tried)
  else await markFailed(deps.db, {...tried, inSeconds: failure.isFinal ? null : waitAfter('mail', attempt)})
  deps.log.info({org: letter.org, notice: letter.notice, attempt, failure: failure?.message}, 'notice mailed')
}

/** An internal error is a failed attempt too, so that the attempts end. */
const send = async ({config, log}: WorkerDeps, mailer: Mailer, {id, orgName, email, notice, body}: Letter): Promise<MailFailure | null> => {
  if (email === null) return new MailFailure('The recipient is no longer a member of the org, or is blocked', true)
  try {
    const {hostname} = new URL(config.PUBLIC_URL)
    const letter = writeLetter({orgName, body: JSON.parse(body) as Body, publicUrl: config.PUBLIC_URL})
    await mailer.send({to: email, ...letter, messageId: `<${id}@${hostname}>`})
    return null
  } catch (err) {
    if (err instanceof MailFailure) return err
    log.error({err, notice}, 'could not mail a notice')
    return new MailFailure('Internal error while sending. The operator of this service finds the cause in the log', false)
  }
}
