import type {Run} from '../../../sql/runs.ts'
import type {SealedPlan} from '../../../sql/sealed-plans.ts'

type Reader = {person: string; approvalAbove: number | null}

/**
 * Returns null if the dry run has no complete plan. `approvalAbove`: number of rows above which a run needs approval; null if no run needs it.
 * `person`: the person who reads the plan.
 */
export const describePlan = ({stale, personId}: Run, plan: SealedPlan | null, {person, approvalAbove}: Reader) =>
  plan && {
    digest: plan.digest,
    rows: plan.rows,
    chunks: plan.chunks,
    state: stateOf(plan, stale),
    sealedAt: plan.sealedAt,
    sealedBy: plan.sealedBy,
    expiresAt: plan.expiresAt,
    needsApproval: approvalAbove !== null && plan.rows > approvalAbove,
    isAuthor: isAuthor({personId}, plan, person),
    approvedAt: plan.approvedAt,
    approvedBy: plan.approvedBy,
  }

/** Whether the person sealed the plan or started its dry run. Such a person may not approve the plan. */
export const isAuthor = ({personId}: Pick<Run, 'personId'>, {sealedBy}: SealedPlan, person: string): boolean =>
  sealedBy?.id === person || personId === person

const stateOf = ({sealedAt, isExpired}: SealedPlan, stale: boolean | null) => {
  if (sealedAt === null) return 'unsealed'
  if (isExpired) return 'expired'
  return stale === false ? 'sealed' : 'changed'
}
