import type {Db} from '../../../sql/database.ts'
import type {Run} from '../../../sql/runs.ts'
import {findUndoState} from '../../../sql/undo.ts'
import {Refusal} from '../../errors.ts'

type UndoBlock = 'RUN_ACTIVE' | 'DRY_RUN' | 'UNDO_NOT_KEPT' | 'UNDO_EXPIRED' | 'UNDO_DONE' | 'RUN_RETRIED'

/** `why`: the reason why the run cannot be undone, else null. `undoneBy`: the run's undo, in progress or complete. */
export const describeUndo = async (db: Db, run: Run) => {
  const {until, undoneBy, why} = await readUndo(db, run)
  return {available: why === null, until, why, undoneBy}
}

/** Refuses a run that cannot be undone now. The caller must have locked its import. */
export const assertUndoable = async (db: Db, run: Run): Promise<void> => {
  const {why, undoneBy, retriedBy} = await readUndo(db, run)
  if (why === null) return
  if (why === 'RUN_ACTIVE') throw new Refusal('IMPORT_RUNNING', 'The run has not ended. Wait for it to end, or cancel it')
  throw new Refusal(why, SAYS[why], {...(why === 'UNDO_DONE' && {run: undoneBy}), ...(why === 'RUN_RETRIED' && {run: retriedBy})})
}

/** Refuses to retry an undo, or a run whose undo has begun, unless that undo was itself undone. */
export const assertNotUndone = async (db: Db, {no, id, undoOf}: Pick<Run, 'no' | 'id' | 'undoOf'>): Promise<void> => {
  if (undoOf !== null) throw new Refusal('RUN_UNDONE', 'An undo cannot be retried. Undo the run again instead', {run: id})
  const {begunBy} = await findUndoState(db, no)
  if (begunBy !== null) throw new Refusal('RUN_UNDONE', 'This run was undone, so it cannot be retried. Start a new run', {run: begunBy})
}

const readUndo = async (db: Db, run: Run) => {
  const state = await findUndoState(db, run.no)
  return {...state, why: findBlock(run, state)}
}

const findBlock = (run: Run, state: Awaited<ReturnType<typeof findUndoState>>): UndoBlock | null => {
  if (run.dryRun) return 'DRY_RUN'
  const isNeverKept = run.undoDays === null || state.isSecondUndo
  if (run.state !== 'ended') return isNeverKept ? 'UNDO_NOT_KEPT' : 'RUN_ACTIVE'
  if (state.undoneBy !== null) return 'UNDO_DONE'
  if (state.retriedBy !== null) return 'RUN_RETRIED'
  if (isNeverKept) return 'UNDO_NOT_KEPT'
  if (state.isOver || run.expiredAt !== null) return 'UNDO_EXPIRED'
  return state.hasKey ? null : 'UNDO_NOT_KEPT'
}

const SAYS: Record<Exclude<UndoBlock, 'RUN_ACTIVE'>, string> = {
  DRY_RUN: 'A dry run writes nothing, so there is nothing to undo',
  UNDO_NOT_KEPT: 'This run stored no values to restore, so it cannot be undone',
  UNDO_EXPIRED: 'The time in which this run could be undone has passed, and the replaced values were deleted',
  UNDO_DONE: 'This run was undone already, or its undo is in progress. To take that back, undo the undo',
  RUN_RETRIED: 'Another run has retried this run. Undo that run first',
}
