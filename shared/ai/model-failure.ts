import {Refusal} from '../errors.ts'
import type {Log} from '../log.ts'
import type {Usage} from './model.ts'

/**
 * What a call to the model came to that did not work. `unavailable`: it cannot be reached, is busy, broke off or took too long. `invalid`: it
 * answered, and not what was asked for. `refused`: it does not take the key, the model's name or the request, which is the operator's matter.
 */
type ModelFailureKind = 'unavailable' | 'invalid' | 'refused'

type Facts = {kind: ModelFailureKind; usage?: Usage; status?: number | null; retryAfterMs?: number | null}

/** Its message is ours: a provider's own words may repeat what it was sent. `usage` is what the provider will charge for, as far as is known. */
export class ModelFailure extends Error {
  override name = 'ModelFailure'
  readonly kind: ModelFailureKind
  readonly usage: Usage
  readonly status: number | null
  readonly retryAfterMs: number | null

  constructor(message: string, {kind, usage = {inputTokens: 0, outputTokens: 0}, status = null, retryAfterMs = null}: Facts) {
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
    'This deployment has no model: its operator sets MODEL_KIND, MODEL_URL, MODEL_API_KEY and MODEL_NAME. Columns are still mapped without one',
  )

/** What its asker is told of a failure, and what the log is: a kind, a status and what was asked for, never a word of either side. */
export const refusalOfModel = (log: Log, failure: ModelFailure, what: string): Refusal => {
  const {kind, status, usage} = failure
  log.warn({err: failure, model: {kind, status, ...usage}}, `the model: ${what}`)
  if (kind === 'refused')
    return new Refusal('NOT_CONFIGURED', 'The model does not take the key, name or address of this deployment: write to its operator')
  if (kind === 'invalid')
    return new Refusal('MODEL_ANSWER_INVALID', 'The model gave no usable answer, and it costs nothing: ask again, or in other words')
  const retryAfterMs = Math.min(failure.retryAfterMs ?? againAfterMs, latestMs)
  return new Refusal('MODEL_UNAVAILABLE', 'The model does not answer at the moment, and it costs nothing: ask again shortly', {
    retryAfterMs,
  })
}

/** The same for whatever was thrown; other errors stay what they are. Of a caller who has gone nobody needs to look into anything. */
export const refuseModelFailure = (log: Log, what: string, signal: AbortSignal) => (error: unknown) => {
  if (signal.aborted) throw new Refusal('REQUEST_TIMEOUT', 'Whoever asked went away before there was an answer')
  throw error instanceof ModelFailure ? refusalOfModel(log, error, what) : error
}
