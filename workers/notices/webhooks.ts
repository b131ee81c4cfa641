import {atPoint} from '../../shared/fault-point.ts'
import {announce} from '../../shared/notifications/announce.ts'
import {restAfter, waitAfter} from '../../shared/notifications/attempts.ts'
import {type PostResult, post} from '../../shared/notifications/post.ts'
import type {Outbound} from '../../shared/schedules/outbound/outbound.ts'
import type {Tx} from '../../sql/database.ts'
import {type ClaimedPost, claimPosting, dropPending, markDelivered, markFailed} from '../../sql/deliveries.ts'
import {disableEndpoint, freeEndpoint} from '../../sql/webhooks.ts'
import type {WorkerDeps} from '../deps.ts'

/**
 * The seconds for which an endpoint is claimed, well beyond the timeout of a request. A process that claims an endpoint for longer has died.
 */
const claimSeconds = 60
/** The limit on endpoints of one org to which notices are posted at the same time. */
const perOrg = 4
const deadDays = 5
/**
 * An endpoint that fails for `deadDays` is disabled only after this many failed attempts of one notice. So a first failure after a quiet week
 * disables nothing.
 */
const deadAttempts = 5

export const claimNext = ({db}: WorkerDeps): Promise<ClaimedPost | null> => claimPosting(db, {seconds: claimSeconds, perOrg})

/** Posts the notice at least once: if the process dies before the result is stored, another attempt follows. */
export const postClaimed = async (deps: WorkerDeps, outbound: Outbound, posting: ClaimedPost): Promise<void> => {
  const posted = await attempt(deps, outbound, posting)
  atPoint('after_notice')
  await deps.db.transaction(tx => note(tx, posting, posted))
  const {org, endpoint, notice, attempt: number} = posting
  deps.log.info({org, endpoint, notice, attempt: number, status: posted.status, failed: posted.error !== null}, 'notice posted')
}

/** An internal error is a failed attempt too, so that the attempts end. */
const attempt = async ({config, log}: WorkerDeps, outbound: Outbound, posting: ClaimedPost): Promise<PostResult> => {
  try {
    return await post(outbound, config, posting)
  } catch (err) {
    log.error({err, endpoint: posting.endpoint, notice: posting.notice}, 'could not post a notice')
    return {
      status: null,
      error: 'Internal error while sending. The operator of this service finds the cause in the log',
      answer: null,
      retryAfterSeconds: 0,
    }
  }
}

const note = async (tx: Tx, posting: ClaimedPost, {status, error, answer, retryAfterSeconds}: PostResult) => {
  const {id, attempt, org, endpoint, endpointKind: kind, url} = posting
  // Every change of an endpoint locks the endpoint first, so that two transactions cannot deadlock.
  const restSeconds = restAfter(status, retryAfterSeconds)
  const dead = await freeEndpoint(tx, {id: endpoint, url, kind, failed: error !== null, restSeconds, days: deadDays})
  const tried = {id, attempt, status, error, answer}
  if (error === null) await markDelivered(tx, tried)
  else await markFailed(tx, {...tried, inSeconds: waitAfter('post', attempt, retryAfterSeconds)})
  if (dead === null) return
  if (status === 410) await disable(tx, {org, endpoint, code: 'gone'})
  else if (dead && attempt >= deadAttempts) await disable(tx, {org, endpoint, code: 'failing'})
}

const REASONS = {
  gone: 'It answered 410 (Gone)',
  failing: `Every delivery has failed for ${deadDays} days`,
}

const disable = async (tx: Tx, {org, endpoint, code}: {org: string; endpoint: string; code: keyof typeof REASONS}) => {
  const reason = REASONS[code]
  if (!(await disableEndpoint(tx, {id: endpoint, reason}))) return
  await dropPending(tx, {endpoint, error: `The endpoint was switched off: ${reason}`})
  await announce(tx, {org, kind: 'webhook.disabled', schedule: null, about: {endpoint, code, reason}})
}
