import type {Run} from '../../sql/runs.ts'

/**
 * `waiting`: rows that are still to be read back; 0 once the run has ended. The stored counts of coerced and changed rows include the second writes,
 * because the guard needs both. Runs that an earlier build verified have no counts of patches, so `rows` limits their counts of rows.
 */
export const describeVerify = ({verify, verified, toVerify, state}: Run) => {
  const [rows = 0, coerced = 0, changed = 0, missing = 0, unread = 0, unverified = 0, , patchesCoerced = 0, patchesChanged = 0] = verified
  const waiting = state === 'ended' ? 0 : toVerify
  const ofRows = (all: number, ofPatches: number) => Math.min(all - ofPatches, rows)
  const written = {coerced: ofRows(coerced, patchesCoerced), changed: ofRows(changed, patchesChanged), missing, unread, waiting, unverified}
  return {mode: verify, rows, ...written, patchesCoerced, patchesChanged}
}
