import type {Tx} from '../../sql/database.ts'
import type {RunHold} from '../../sql/run-heads.ts'
import type {Run} from '../../sql/runs.ts'
import {announce} from './announce.ts'

/**
 * Announces the end of a run in the transaction that ends the run. An undo that writes is announced as `run.undone`. The run's result is read when
 * the notice is sent, because ending a run must not wait for these reads.
 */
export const announceEnd = (
  tx: Tx,
  {org, id, dryRun, undoOf}: Pick<Run, 'org' | 'id' | 'dryRun'> & Partial<Pick<Run, 'undoOf'>>,
): Promise<string> => {
  const isUndo = undoOf != null && !dryRun
  return announce(tx, {org, kind: isUndo ? 'run.undone' : 'run.ended', schedule: null, about: {run: id, dryRun, ...(isUndo && {undoOf})}})
}

/** Announces that the run guard holds a run. Call this in the transaction that pauses the run. */
export const announceHeld = (tx: Tx, {org, id}: Pick<Run, 'org' | 'id'>, held: RunHold): Promise<string> =>
  announce(tx, {org, kind: 'run.held', schedule: null, about: {run: id, held}})
