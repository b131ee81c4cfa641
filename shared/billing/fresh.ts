import {PaymentFailure} from './payment-failure.ts'

const freshMs = 60_000

/**
 * Throws if a decision to spend money is older than a minute. Call this right before the paid call. `since`: the `performance.now()` of the
 * decision. If the process was suspended, the call may be unwanted or already made, and the provider may have forgotten its idempotency
 * key.
 */
export const assertFresh = (since: number): void => {
  if (performance.now() - since > freshMs) throw new PaymentFailure('The decision to make this call is too old', {kind: 'busy'})
}
