import {Refusal} from '../errors.ts'
import type {Log} from '../telemetry/log.ts'

/**
 * The kind of a failed call. `declined`: the card was declined; nothing changed. `refused`: the provider refused the call; nothing changed.
 * `busy`: another call with the same key is in progress, or the rate limit is reached; nothing was done. `unavailable`: the outcome is
 * unknown.
 */
type FailureKind = 'declined' | 'refused' | 'busy' | 'unavailable'

/** A failed call to the payment provider. The message is the provider's own: for logs and operators, not for customers. */
export class PaymentFailure extends Error {
  override name = 'PaymentFailure'
  readonly kind: FailureKind
  readonly code: string | null
  readonly declineCode: string | null
  readonly status: number | null
  readonly requestId: string | null
  readonly intent: string | null

  constructor(
    message: string,
    {kind, code = null, declineCode = null, status = null, requestId = null, intent = null}: FailureDetails,
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

type FailureDetails = {kind: FailureKind} & Partial<Record<'code' | 'declineCode' | 'requestId' | 'intent', string | null>> & {
    status?: number | null
  }

/**
 * Converts an error of the SDK to a PaymentFailure, and returns other errors unchanged. Only the status decides the kind, as in the SDK's
 * classes, because error codes are not a closed set.
 */
export const failureOf = async (error: unknown): Promise<unknown> => {
  const {Stripe} = await import('stripe')
  if (!(error instanceof Stripe.errors.StripeError)) return error
  const {statusCode: status = null, code = null, decline_code: declineCode = null, requestId = null, payment_intent: intent} = error
  return new PaymentFailure(error.message, {kind: kindOf(status), code, declineCode, status, requestId, intent: intent?.id ?? null}, error)
}

/** 409 means that another call with the same idempotency key is in progress. */
const kindOf = (status: number | null): FailureKind => {
  if (status === 402) return 'declined'
  if (status === 429 || status === 409) return 'busy'
  return status !== null && status >= 400 && status < 500 ? 'refused' : 'unavailable'
}

export const nullWhereGone = (error: unknown): null => {
  if (error instanceof PaymentFailure && error.status === 404) return null
  throw error
}

export const failureIn = (error: unknown): PaymentFailure => {
  if (error instanceof PaymentFailure) return error
  throw error
}

export const wrongAnswer = (object: string) => new PaymentFailure(`The answer is no ${object}`, {kind: 'unavailable'})

const againAfterMs = 30_000

/**
 * Logs a payment failure and returns the refusal for the caller. The provider's message and request id appear only in the log. If the key
 * is invalid (401), the refusal refers the caller to the operator.
 */
export const refusalOf = (log: Log, failure: PaymentFailure, what: string): Refusal => {
  const {kind, status, code, requestId} = failure
  log.warn({err: failure, payment: {kind, status, code, requestId}}, `the payment provider: ${what}`)
  if (status === 401)
    return new Refusal('NOT_CONFIGURED', 'The payment provider does not accept the key of this deployment. Contact the operator')
  if (kind === 'refused' || kind === 'declined')
    return new Refusal(
      'PAYMENT_PROVIDER_REFUSED',
      'The payment provider refused the request, and nothing was charged. Contact support if this continues',
    )
  const says =
    'The payment provider did not answer correctly. The request may have succeeded, so check the billing summary before you try again'
  return new Refusal('PAYMENT_PROVIDER_UNAVAILABLE', says, {retryAfterMs: againAfterMs})
}

export const refuseFailure = (log: Log, what: string) => (error: unknown) => {
  throw error instanceof PaymentFailure ? refusalOf(log, error, what) : error
}
