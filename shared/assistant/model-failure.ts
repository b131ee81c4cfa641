import {Refusal} from '../errors.ts'
import type {Log} from '../telemetry/log.ts'
import type {Usage} from './model.ts'

/**
 * Kind of a failed model call. `unavailable`: not reachable, busy, interrupted or too slow. `invalid`: the answer is unusable, for example
 * because it does not match the schema. `refused`: the provider rejects the key, the model's name or the request, which the operator must fix.
 */
type ModelFailureKind = 'unavailable' | 'invalid' | 'refused'

type FailureDetails = {kind: ModelFailureKind; usage?: Usage; status?: number | null; retryAfterMs?: number | null}

/**
 * The failure of a model call. The message is Lading's own, because a provider's message may repeat the prompt. `usage` is the usage that the
 * provider will charge, as far as known.
 */
export class ModelFailure extends Error {
  override name = 'ModelFailure'
  readonly kind: ModelFailureKind
  readonly usage: Usage
  readonly status: number | null
  readonly retryAfterMs: number | null

  constructor(message: string, {kind, usage = {inputTokens: 0, outputTokens: 0}, status = null, retryAfterMs = null}: FailureDetails) {
    super(message)
    this.kind = kind
    this.usage = usage
    this.status = status
    this.retryAfterMs = retryAfterMs
  }
}

const againAfterMs = 15_000
const latestMs = 600_000

export const modelNotConfigured = () =>
  new Refusal(
    'NOT_CONFIGURED',
    'This deployment has no model. Its operator can set MODEL_KIND, MODEL_URL, MODEL_API_KEY and MODEL_NAME. Columns are still mapped without a model',
  )

/**
 * Logs kind, status and usage of a failure and returns the refusal for the caller. Neither the log entry nor the refusal contains text of the
 * prompt or the answer.
 */
export const refusalOfModel = (log: Log, failure: ModelFailure, what: string): Refusal => {
  const {kind, status, usage} = failure
  log.warn({err: failure, model: {kind, status, ...usage}}, `the model: ${what}`)
  if (kind === 'refused')
    return new Refusal('NOT_CONFIGURED', 'The model rejects the key, name or address of this deployment. Contact its operator')
  if (kind === 'invalid')
    return new Refusal('MODEL_ANSWER_INVALID', 'The model gave no usable answer. Nothing was charged. Try again, or rephrase the question')
  const retryAfterMs = Math.min(failure.retryAfterMs ?? againAfterMs, latestMs)
  return new Refusal('MODEL_UNAVAILABLE', 'The model does not answer at the moment. Nothing was charged. Try again shortly', {
    retryAfterMs,
  })
}

/**
 * Returns an error handler that throws the refusal for a model failure, and any other error unchanged. If the caller disconnected, the handler throws
 * REQUEST_TIMEOUT and logs nothing.
 */
export const refuseModelFailure = (log: Log, what: string, signal: AbortSignal) => (error: unknown) => {
  if (signal.aborted) throw new Refusal('REQUEST_TIMEOUT', 'The client disconnected before the answer was complete')
  throw error instanceof ModelFailure ? refusalOfModel(log, error, what) : error
}
