import {Refusal} from '../errors.ts'
import type {Log} from '../log.ts'

/**
 * What a call came to that did not work. `declined`: the card was; nothing has changed. `refused`: the provider will not do it; nothing has changed.
 * `busy`: another call is under way for it, or there are too many; nothing was done. `unavailable`: nobody knows whether it was done.
 */
type FailureKind = 'declined' | 'refused' | 'busy' | 'unavailable'

/** Its message is the provider's, for the log alone. */
export class PaymentFailure extends Error {
  override name = 'PaymentFailure'
  readonly kind: FailureKind
  readonly code: string | null
  readonly declineCode: string | null
  readonly status: number | null
  readonly requestId: string | null
  /** The payment that was begun and did not succeed. */
  readonly intent: string | null

  constructor(
    message: string,
    {kind, code = null, declineCode = null, status = null, requestId = null, intent = null}: Facts,
    cause?: unknown,
  ) {
    super(message, {cause})
    this.kind = kind
    this.code = code
    this.declineCode = declineCode
    this.status = status
    this.requestId = requestId
    this.intent = intent
  }
}

type Facts = {kind: FailureKind} & Partial<Record<'code' | 'declineCode' | 'requestId' | 'intent', string | null>> & {
    status?: number | null
  }

/** By the status alone, which is what the SDK's classes go by too: codes are not a closed set. */
export const failureOf = async (error: unknown): Promise<unknown> => {
  const {Stripe} = await import('stripe')
  if (!(error instanceof Stripe.errors.StripeError)) return error
  const {statusCode: status = null, code = null, decline_code: declineCode = null, requestId = null, payment_intent: intent} = error
  return new PaymentFailure(error.message, {kind: kindOf(status), code, declineCode, status, requestId, intent: intent?.id ?? null}, error)
}

/** 409: a call under the same idempotency key is under way. */
const kindOf = (status: number | null): FailureKind => {
  if (status === 402) return 'declined'
  if (status === 429 || status === 409) return 'busy'
  return status !== null && status >= 400 && status < 500 ? 'refused' : 'unavailable'
}

/** For `catch`: null of what the provider does not know. */
export const nullWhereGone = (error: unknown): null => {
  if (error instanceof PaymentFailure && error.status === 404) return null
  throw error
}

/** For `catch`: the failure as an answer; other errors stay what they are. */
export const failureIn = (error: unknown): PaymentFailure => {
  if (error instanceof PaymentFailure) return error
  throw error
}

export const wrongAnswer = (object: string) => new PaymentFailure(`The answer is no ${object}`, {kind: 'unavailable'})

const againAfterMs = 30_000

/** What its asker is told of a failure. The provider's words are logged, with the request's id there, and go nowhere else. A bad key is our operator's matter. */
export const refusalOf = (log: Log, failure: PaymentFailure, what: string): Refusal => {
  const {kind, status, code, requestId} = failure
  log.warn({err: failure, payment: {kind, status, code, requestId}}, `the payment provider: ${what}`)
  if (status === 401)
    return new Refusal('NOT_CONFIGURED', 'The payment provider does not accept the key of this deployment: write to its operator')
  if (kind === 'refused' || kind === 'declined')
    return new Refusal(
      'PAYMENT_PROVIDER_REFUSED',
      'The payment provider refused this, and nothing was charged: write to support if it stays so',
    )
  const says =
    'The payment provider does not answer as it should. It may have gone through: look at the billing summary before you try again'
  return new Refusal('PAYMENT_PROVIDER_UNAVAILABLE', says, {retryAfterMs: againAfterMs})
}

/** The same for whatever was thrown; other errors stay what they are. */
export const refuseFailure = (log: Log, what: string) => (error: unknown) => {
  throw error instanceof PaymentFailure ? refusalOf(log, error, what) : error
}
