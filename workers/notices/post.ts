import {atPoint} from '../../shared/fault-point.ts'
import {announce} from '../../shared/notices/announce.ts'
import {restAfter, waitAfter} from '../../shared/notices/attempts.ts'
import {type Posted, post} from '../../shared/notices/post.ts'
import type {Outbound} from '../../shared/outbound/outbound.ts'
import type {Tx} from '../../sql/database.ts'
import {claimPosting, dropPending, markDelivered, markFailed, type Posting} from '../../sql/deliveries.ts'
import {disableEndpoint, freeEndpoint} from '../../sql/endpoints.ts'
import type {Tools} from '../tools.ts'

/** Well past the time-out of a request: who holds an endpoint longer has died. */
const claimSeconds = 60
/** Endpoints of one org that are told something at once. */
const perOrg = 4
const deadDays = 5
/** Of an endpoint that has long answered nothing else, this attempt has to fail too: the first failure in a week switches nothing off. */
const deadAttempts = 5

export const claimNext = ({db}: Tools): Promise<Posting | null> => claimPosting(db, {seconds: claimSeconds, perOrg})

/** Posts it, at least once: a process that dies before the note is followed by another attempt. */
export const postClaimed = async (tools: Tools, outbound: Outbound, posting: Posting): Promise<void> => {
  const posted = await attempt(tools, outbound, posting)
  atPoint('after_notice')
  await tools.db.transaction(tx => note(tx, posting, posted))
  const {org, endpoint, notice, attempt: number} = posting
  tools.log.info({org, endpoint, notice, attempt: number, status: posted.status, failed: posted.error !== null}, 'notice posted')
}

/** A fault of ours counts as an attempt too, so that it ends. */
const attempt = async ({config, log}: Tools, outbound: Outbound, posting: Posting): Promise<Posted> => {
  try {
    return await post(outbound, config.SECRETS_KEYS, posting)
  } catch (err) {
    log.error({err, endpoint: posting.endpoint, notice: posting.notice}, 'a notice could not be posted')
    return {
      status: null,
      error: 'This service could not send it: its operator finds the reason in the log',
      answer: null,
      retryAfterSeconds: 0,
    }
  }
}

const note = async (tx: Tx, {id, attempt, org, endpoint}: Posting, {status, error, answer, retryAfterSeconds}: Posted) => {
  // The endpoint first, as whoever changes it holds it.
  const restSeconds = restAfter(status, retryAfterSeconds)
  const dead = await freeEndpoint(tx, {id: endpoint, failed: error !== null, restSeconds, days: deadDays})
  const tried = {id, attempt, status, error, answer}
  if (error === null) await markDelivered(tx, tried)
  else await markFailed(tx, {...tried, inSeconds: waitAfter('post', attempt, retryAfterSeconds)})
  if (status === 410) await disable(tx, {org, endpoint, code: 'gone'})
  else if (dead && attempt >= deadAttempts) await disable(tx, {org, endpoint, code: 'failing'})
}

const REASONS = {
  gone: 'It answered 410: it wants no more notices',
  failing: `It has answered nothing but failures for ${deadDays} days`,
}

const disable = async (tx: Tx, {org, endpoint, code}: {org: string; endpoint: string; code: keyof typeof REASONS}) => {
  const reason = REASONS[code]
  if (!(await disableEndpoint(tx, {id: endpoint, reason}))) return
  await dropPending(tx, {endpoint, error: `The endpoint was switched off: ${reason}`})
  await announce(tx, {org, kind: 'webhook.disabled', schedule: null, about: {endpoint, code, reason}})
}
