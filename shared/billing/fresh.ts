import {PaymentFailure} from './payment-failure.ts'

const freshMs = 60_000

/**
 * For right before a call that costs money. `since`: `performance.now()` when it was last looked at whether it is to be made. A process that slept longer
 * in between looks again: much may be wanted no more by then, or done by others, and its key be forgotten.
 */
export const assertFresh = (since: number): void => {
  if (performance.now() - since > freshMs) throw new PaymentFailure('It was looked at too long ago', {kind: 'busy'})
}
