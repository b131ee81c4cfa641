import type {Tx} from '../../../sql/database.ts'
import {findRun, findRunByNo, type Run} from '../../../sql/runs.ts'
import {findPlan, type SealedPlan} from '../../../sql/sealed-plans.ts'
import {Refusal} from '../../errors.ts'
import type {Snapshot} from '../../mapping/flows/snapshot.ts'
import {assertKept} from '../kept.ts'
import {readRun} from '../names.ts'

type PlanToApply = {
  org: string
  importNo: number
  planOf: string | undefined
  retryOf: string | undefined
  retried: {no: number; planNo: number | null} | null
}

/** `run`: the dry run that made the plan. `snapshotNo`: the snapshot of the dry run, which the new run copies. */
export type AppliedPlan = {run: Run; plan: SealedPlan; snapshot: Snapshot; snapshotNo: number}

/**
 * Finds the plan of the dry run `planOf`. Without `planOf`, finds the plan that the run to retry applied, or returns null if it applied none. Throws
 * unless the plan is sealed, not expired and made of the current import.
 */
export const findAppliedPlan = async (tx: Tx, {org, importNo, planOf, retryOf, retried}: PlanToApply): Promise<AppliedPlan | null> => {
  const inherited = planOf === undefined ? (retried?.planNo ?? null) : null
  const run = planOf === undefined ? (inherited === null ? null : await findRunByNo(tx, inherited)) : await findRun(tx, {org, id: planOf})
  if (planOf === undefined && inherited === null) return null
  if (!run || run.importNo !== importNo) throw new Refusal('RUN_NOT_FOUND', 'The import has no such run')
  assertPlanned(run)
  if (inherited === null && (run.retryOf ?? undefined) !== retryOf)
    throw new Refusal('NOT_READY', 'The plan is of another retry. Make a dry run with the same `retryOf`, and seal its plan')
  const plan = await findPlan(tx, run.no)
  if (!plan?.sealedAt) throw new Refusal('NOT_READY', 'The plan of this dry run is not sealed. Seal it first')
  assertUnexpired(plan)
  assertUnchanged(run)
  const {snapshot, unread} = await readRun(tx, run)
  if (unread) throw unread
  return {run, plan, snapshot: snapshot!, snapshotNo: run.snapshotNo!}
}

/** Refuses an undo, an external run, an expired run, and a run that is not a dry run. */
export const assertPlanned = (run: Run): void => {
  if (!run.dryRun || run.undoOf !== null || run.engine !== 'worker')
    throw new Refusal('NOT_A_DRY_RUN', 'Only a dry run of the import has a plan. Start a run with `dryRun`')
  assertKept(run)
}

export const assertUnexpired = ({isExpired}: SealedPlan): void => {
  if (isExpired) throw new Refusal('PLAN_EXPIRED', 'The seal of this plan has expired. Start a new dry run and seal its plan')
}

export const assertUnchanged = ({stale}: Run): void => {
  if (stale !== false)
    throw new Refusal(
      'PLAN_CHANGED',
      'The import was changed after this dry run, so its plan cannot be applied. Start a new dry run and seal its plan',
    )
}
