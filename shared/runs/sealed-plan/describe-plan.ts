import type {Run} from '../../../sql/runs.ts'
import type {SealedPlan} from '../../../sql/sealed-plans.ts'

/** Returns null if the dry run has no complete plan. `approvalAbove`: number of rows above which a run needs approval; null if no run needs it. */
export const describePlan = ({stale}: Run, plan: SealedPlan | null, approvalAbove: number | null) =>
  plan && {
    digest: plan.digest,
    rows: plan.rows,
    chunks: plan.chunks,
    state: stateOf(plan, stale),
    sealedAt: plan.sealedAt,
    sealedBy: plan.sealedBy,
    expiresAt: plan.expiresAt,
    needsApproval: approvalAbove !== null && plan.rows > approvalAbove,
    approvedAt: plan.approvedAt,
    approvedBy: plan.approvedBy,
  }

const stateOf = ({sealedAt, isExpired}: SealedPlan, stale: boolean | null) => {
  if (sealedAt === null) return 'unsealed'
  if (isExpired) return 'expired'
  return stale === false ? 'sealed' : 'changed'
}
