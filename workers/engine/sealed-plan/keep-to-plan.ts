import type {PlanStep, StepFacts} from '../../../shared/runs/sealed-plan/plan-step.ts'
import type {Context} from '../context.ts'
import type {RowPlan, SkipPlan} from '../match/plan-rows.ts'
import type {CompiledFlow, ImportRow, RowFailure} from '../model.ts'

export const PLAN_STALE = 'PLAN_STALE'

/** The part of a row that is compared with the plan. `step`: the row's step in the plan; null: none; undefined: the run has no plan. */
type PlannedRow = Partial<Pick<ImportRow, 'step' | 'attempt' | 'decided' | 'unansweredSends'>>

/** Sets the `step` of each row. Does nothing if the run applies no plan. */
export const addSteps = async (
  {plan}: Pick<Context, 'plan'>,
  flow: Pick<CompiledFlow, 'no'>,
  phase: PlanStep['phase'],
  rows: (ImportRow | RowFailure)[],
): Promise<void> => {
  if (!plan || rows.length === 0) return
  const steps = await plan.stepsOf(
    flow.no,
    phase,
    rows.map(({number}) => number),
  )
  for (const row of rows) row.step = steps.get(row.number) ?? null
}

/**
 * Whether this run or an earlier run of the chain sent a write of the row that may have taken effect. Such a row has a decided operation. A patch
 * row has a decided operation from the start, so its attempts show whether it was sent. A refused row wrote nothing, so it is planned again and
 * counts as not sent.
 */
export const isSent = (
  {attempt = 0, unansweredSends = 0, decided = null}: PlannedRow,
  {patchPlan}: Pick<CompiledFlow, 'patchPlan'>,
): boolean => unansweredSends > 0 || (patchPlan ? attempt > 0 : decided !== null)

/** Whether the row has a step in the plan and its write was not sent. If such a row is not written, it must end as stale. */
export const isDue = (row: PlannedRow, flow: Pick<CompiledFlow, 'patchPlan'>): boolean => Boolean(row.step) && !isSent(row, flow)

/**
 * Restricts the plan of a row to its step in the sealed plan. A row without a step is not written and raises no question. If it would update or
 * delete a record, it keeps that plan until the record is compared, because it may need no write. A row whose operation was sent earlier keeps
 * its plan.
 */
export const keepToPlan = ({step, decided}: PlannedRow, planned: RowPlan): RowPlan => {
  if (step === undefined || decided) return planned
  if (planned.do === 'wait') return step ? planned : skipStale('The plan does not write this row')
  if (planned.do === 'skip') return step ? skipStale(`The plan would ${step.kind}, but now: ${planned.message}`) : {...planned, asks: null}
  if (!step) return planned.do === 'create' ? skipStale('The plan does not write this row, but the row would now create') : planned
  return step.kind === planned.do ? planned : skipStale(`The plan would ${step.kind}, but the row would now ${planned.do}`)
}

/** Returns what the plan would do, for a message. */
export const sayKind = (kind: PlanStep['kind']): string => (kind === 'nested' ? 'create the row with its parent' : kind)

export const skipStale = (message: string): SkipPlan => ({do: 'skip', code: PLAN_STALE, message, recordId: null, asks: null})

/**
 * Returns how an operation differs from its step in the plan; null if both agree. `ours`: when the chain last changed the target. A change
 * at that time is no difference.
 */
export const findDifference = (step: PlanStep | null, now: StepFacts, ours: string | null): string | null => {
  if (!step) return 'The plan does not write this row'
  if (step.kind !== now.kind) return `The plan would ${sayKind(step.kind)}, but the row would now ${now.kind}`
  if (step.target !== now.target) return 'The row would now write another record than the plan'
  if (step.valuesHash !== now.valuesHash) return 'The values differ from the plan'
  if (step.modifiedAt === null && (step.target === null || step.target.startsWith('row:'))) return null
  if (now.modifiedAt === null) return 'The CRM no longer shows the record'
  const isMoved = now.modifiedAt !== step.modifiedAt && now.modifiedAt !== ours
  return isMoved ? `The record was changed at ${now.modifiedAt}, after the plan was made` : null
}
