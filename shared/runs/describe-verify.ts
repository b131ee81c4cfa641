import type {Run} from '../../sql/runs.ts'

/** `waiting`: rows that are still to be read back; 0 once the run has ended. */
export const describeVerify = ({verify, verified, toVerify, state}: Run) => {
  const [rows = 0, coerced = 0, changed = 0, missing = 0, unread = 0, unverified = 0] = verified
  return {mode: verify, rows, coerced, changed, missing, unread, waiting: state === 'ended' ? 0 : toVerify, unverified}
}
