import type {ClaimedPost} from '../../sql/deliveries.ts'
import type {Config} from '../config.ts'
import {OutboundFailure} from '../schedules/outbound/failure.ts'
import {type Outbound, type OutboundAnswer, readStart} from '../schedules/outbound/outbound.ts'
import type {KeyRing} from '../security/secrets.ts'
import {readRetryAfter} from './attempts.ts'
import {chatMessageOf} from './chat-message.ts'
import {openSecret, sign} from './signature.ts'

const usualSeconds = 15
const answerBytes = 1024

/** `status` is null if no answer arrived. `error` is null only for 2xx. */
export type PostResult = {status: number | null; error: string | null; answer: string | null; retryAfterSeconds: number}

type PostConfig = Pick<Config, 'SECRETS_KEYS' | 'PUBLIC_URL'>

/**
 * Makes one attempt: sends a signed notice with the time of the attempt, or a chat message. Chat messages are unsigned, because chat products
 * check no signature. If the receiver fails, hangs, redirects or must not be called, returns a result and does not throw.
 */
export const post = async (
  outbound: Outbound,
  config: PostConfig,
  posting: ClaimedPost,
  timeoutSeconds = usualSeconds,
): Promise<PostResult> => {
  const {org, url, endpointKind: kind} = posting
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'Lading-Webhooks',
    ...(kind === 'json' && signed(config.SECRETS_KEYS, posting)),
  }
  const body = kind === 'json' ? posting.body : JSON.stringify(chatMessageOf(kind, JSON.parse(posting.body), config.PUBLIC_URL))
  try {
    const answer = await outbound.request(url, {org, method: 'POST', headers, body, timeoutSeconds, idleSeconds: timeoutSeconds})
    const {status} = answer
    const retryAfterSeconds = readRetryAfter(status, answer.headers['retry-after'])
    const error = status >= 200 && status < 300 ? null : `The receiver answered ${status}`
    return {status, error, retryAfterSeconds, answer: await excerpt(answer)}
  } catch (error) {
    if (!(error instanceof OutboundFailure)) throw error
    return {status: error.status, error: `${error.code}: ${error.message}`, answer: null, retryAfterSeconds: 0}
  }
}

/** Signs a delivery with the time of the attempt, which receivers compare with their clock. */
const signed = (ring: KeyRing, {endpoint, notice, body, secret, oldSecret}: ClaimedPost) => {
  const secrets = [secret, ...(oldSecret === null ? [] : [oldSecret])].map(sealed => openSecret(ring, endpoint, sealed))
  return sign({id: notice, seconds: Math.floor(Date.now() / 1000), body, secrets})
}

/** Only the status decides about the delivery, so a body that cannot be read gives null. Answers of private hosts are not stored. */
const excerpt = async (answer: OutboundAnswer): Promise<string | null> => {
  if (answer.isPrivate) {
    answer.discard()
    return null
  }
  try {
    return (await readStart(answer, answerBytes)).replaceAll('\0', '')
  } catch (error) {
    if (error instanceof OutboundFailure) return null
    throw error
  }
}
