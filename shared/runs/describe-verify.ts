import type {Run} from '../../sql/runs.ts'

/**
 * `waiting`: rows that are still to be read back; 0 once the run has ended. A row whose write and patch both differ is stored as two `coerced` or
 * `changed` rows, so these counts are limited to `rows`.
 */
export const describeVerify = ({verify, verified, toVerify, state}: Run) => {
  const [rows = 0, coerced = 0, changed = 0, missing = 0, unread = 0, unverified = 0] = verified
  const waiting = state === 'ended' ? 0 : toVerify
  return {mode: verify, rows, coerced: Math.min(coerced, rows), changed: Math.min(changed, rows), missing, unread, waiting, unverified}
}
