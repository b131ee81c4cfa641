import {atPoint} from '../../shared/fault-point.ts'
import {waitAfter} from '../../shared/notices/attempts.ts'
import type {Body} from '../../shared/notices/compose.ts'
import {writeLetter} from '../../shared/notices/letter.ts'
import {type Mailer, MailFailure} from '../../shared/notices/mail.ts'
import {claimLetter, type Letter, markDelivered, markFailed} from '../../sql/deliveries.ts'
import type {Tools} from '../tools.ts'

/** Past the time a mail server is given. */
const claimSeconds = 120

export const claimNext = ({db}: Tools): Promise<Letter | null> => claimLetter(db, {seconds: claimSeconds})

/** One that is sent twice carries the same Message-ID. */
export const mailClaimed = async (tools: Tools, mailer: Mailer, letter: Letter): Promise<void> => {
  const {id, attempt} = letter
  const failure = await send(tools, mailer, letter)
  atPoint('after_notice')
  const tried = {id, attempt, status: null, error: failure?.message ?? null, answer: null}
  if (!failure) await markDelivered(tools.db, tried)
  else await markFailed(tools.db, {...tried, inSeconds: failure.isFinal ? null : waitAfter('mail', attempt)})
  tools.log.info({org: letter.org, notice: letter.notice, attempt, failure: failure?.message}, 'notice mailed')
}

/** A fault of ours counts as an attempt too, so that it ends. */
const send = async ({config, log}: Tools, mailer: Mailer, {id, orgName, email, notice, body}: Letter): Promise<MailFailure | null> => {
  if (email === null) return new MailFailure('They are no member of the org any more, or blocked', true)
  try {
    const {hostname} = new URL(config.PUBLIC_URL)
    const letter = writeLetter({orgName, body: JSON.parse(body) as Body, publicUrl: config.PUBLIC_URL})
    await mailer.send({to: email, ...letter, messageId: `<${id}@${hostname}>`})
    return null
  } catch (err) {
    if (err instanceof MailFailure) return err
    log.error({err, notice}, 'a notice could not be mailed')
    return new MailFailure('This service could not send it: its operator finds the reason in the log', false)
  }
}
