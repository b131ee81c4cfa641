import type {Tx} from '../../../sql/database.ts'
import type {Import} from '../../../sql/imports.ts'
import {findSettings} from '../../../sql/registry.ts'
import {approvePlan, type SealedPlan} from '../../../sql/sealed-plans.ts'
import {type Author, recordChanges} from '../../configuration/change.ts'
import {Refusal} from '../../errors.ts'
import {isTemplateApproved} from '../../mapping/templates/approval.ts'
import {announce} from '../../notifications/announce.ts'
import {isAuthor} from './describe-plan.ts'
import {lockPlanOf, type PlanName} from './seal.ts'
import {assertUnchanged, assertUnexpired} from './start-plan.ts'

type Approval = PlanName & {person: string; digest: string}

/**
 * Approves a sealed plan by its digest. Throws SELF_APPROVAL if the person sealed the plan or started its dry run. Does nothing if the plan
 * is already approved.
 */
export const approvePlanOf = async (tx: Tx, author: Author, {person, digest, ...name}: Approval): Promise<void> => {
  const {found, run, plan} = await lockPlanOf(tx, name)
  if (!plan.sealedAt) throw new Refusal('NOT_READY', 'The plan of this dry run is not sealed. Seal it first')
  assertUnexpired(plan)
  assertUnchanged(run)
  const {digest: sealed} = plan
  if (digest.toLowerCase() !== sealed)
    throw new Refusal('PLAN_CHANGED', 'This digest is not the one of the sealed plan. Read the plan again, then approve it')
  if (isAuthor(run, plan, person)) throw new Refusal('SELF_APPROVAL', 'You made this plan, so another admin must approve it')
  if (plan.approvedAt) return
  await approvePlan(tx, {run: run.no, person})
  const after = {run: run.id, rows: plan.rows, digest: sealed}
  await recordChanges(tx, author, [
    {page: 'imports', target: found.name, connectorId: found.connectorId, subject: 'plan.approved', before: null, after},
  ])
  const about = {import: name.importId, run: run.id, rows: plan.rows, digest: sealed}
  await announce(tx, {org: name.org, kind: 'plan.approved', schedule: null, about})
}

/** Returns the number of rows above which a run needs an approved plan. Null: no run needs one. */
export const findApprovalAbove = async (tx: Parameters<typeof findSettings>[0], org: string): Promise<number | null> =>
  (await findSettings(tx, org))?.approvalAbove ?? null

type AssertApprovedInput = {org: string; rows: number; plan: SealedPlan | null; scheduled: Import | null}

/**
 * Refuses a run that may write more rows than the org allows without approval. `rows`: the run's row limit. `plan`: the plan that the run applies.
 * `scheduled`: the import of a run that a schedule starts. For such a run, an approved template version is enough.
 */
export const assertApproved = async (tx: Tx, {org, rows, plan, scheduled}: AssertApprovedInput): Promise<void> => {
  const above = await findApprovalAbove(tx, org)
  if (above === null || Math.min(rows, plan?.rows ?? rows) <= above || plan?.approvedAt) return
  if (scheduled) {
    if (await isTemplateApproved(tx, org, scheduled)) return
    throw new Refusal(
      'APPROVAL_REQUIRED',
      `A schedule that may write more than ${above} rows needs an approved version of its template. Have another admin approve the template, then run the schedule again`,
      {approvalAbove: above},
    )
  }
  throw new Refusal(
    'APPROVAL_REQUIRED',
    `A run that may write more than ${above} rows needs a plan that another admin approved. Make a dry run, seal its plan and have it approved, then send \`planOf\``,
    {approvalAbove: above},
  )
}
