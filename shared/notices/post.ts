import type {Posting} from '../../sql/deliveries.ts'
import {OutboundFailure} from '../outbound/failure.ts'
import {type Answer, type Outbound, readStart} from '../outbound/outbound.ts'
import type {KeyRing} from '../secrets.ts'
import {readRetryAfter} from './attempts.ts'
import {openSecret, sign} from './signature.ts'

/** From the name to the end of the answer. */
const usualSeconds = 15
const answerBytes = 1024

/** What came of one attempt. `status` is null where no answer came; `error` is null for 2xx, and for nothing else. */
export type Posted = {status: number | null; error: string | null; answer: string | null; retryAfterSeconds: number}

/** One attempt, signed at this moment. A receiver that fails, hangs, redirects or may not be reached is an outcome, not an error. */
export const post = async (outbound: Outbound, ring: KeyRing, posting: Posting, timeoutSeconds = usualSeconds): Promise<Posted> => {
  const {org, url, body} = posting
  const headers = {'content-type': 'application/json', 'user-agent': 'Lading-Webhooks', ...signed(ring, posting)}
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

/** Of the moment of the attempt, by the clock receivers compare it with. */
const signed = (ring: KeyRing, {endpoint, notice, body, secret, oldSecret}: Posting) => {
  const secrets = [secret, ...(oldSecret === null ? [] : [oldSecret])].map(sealed => openSecret(ring, endpoint, sealed))
  return sign({id: notice, seconds: Math.floor(Date.now() / 1000), body, secrets})
}

/** The status alone decides: a body that breaks off, or is too long, is none. What a private host answers is not kept. */
const excerpt = async (answer: Answer): Promise<string | null> => {
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
