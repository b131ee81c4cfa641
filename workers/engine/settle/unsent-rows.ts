import {isLinkCode} from '../../../shared/runs/link-code.ts'
import type {Context} from '../context.ts'
import type {CompiledFlow, ImportRow, RowFailure} from '../model.ts'
import type {RowWindow} from '../read/window.ts'
import type {InheritedRow} from '../recover/inherited-rows.ts'
import {isDue, PLAN_STALE} from '../sealed-plan/keep-to-plan.ts'
import {logMayExistTwice, logOutcome} from './log-entries.ts'
import {emptySettlement, type SettlementParts} from './settler.ts'
import {closeUnsettled} from './verdict.ts'

type Pass = {ctx: Pick<Context, 'settler' | 'run'>; flow: CompiledFlow; window: Pick<RowWindow, 'leave'>}

type FailedRow = Omit<RowFailure, 'key' | 'number'> & {
  row: Pick<ImportRow, 'key' | 'number' | 'counted' | 'attempt' | 'open' | 'notes'> &
    Partial<Pick<ImportRow, 'step' | 'decided' | 'lostUpdate'>>
}

/** Returns the failed row to settle. A row that was sent before changes its count, and its unsettled entry ends. */
export const failedRowOf = ({sent, ...failure}: RowFailure): FailedRow => ({
  ...failure,
  row: {...failure, counted: null, attempt: 0, ...sent, open: sent !== undefined},
})

export const settleFailures = async (pass: Pass, failed: FailedRow[]): Promise<void> => {
  const {flow} = pass
  const settled = emptySettlement()
  for (const {row, question, ...given} of failed) {
    const {code, message, target, end} = isDue(row, flow) ? {...given, end: 'skipped' as const, ...staleFailure(given)} : given
    // A run with a sealed plan stores no questions, because an answer would change the plan.
    if (question && row.step === undefined) settled.asked.push(question)
    // A patched row already has a record, so only its link stays empty.
    if (flow.patchPlan && target !== null && isLinkCode(code)) settled.emptyLinks.push({flow: flow.no, field: target})
    logOutcome({flow, settled}, row, end === 'skipped' ? 'skipped' : 'failed', {code, message, target, attempt: row.attempt})
    closeUnsettled({flow, settled}, row)
  }
  await settleRows(
    pass,
    settled,
    failed.map(({row}) => row),
  )
}

export const staleFailure = ({message}: {message: string | null}) => ({
  code: PLAN_STALE,
  message: `The plan writes this row, but now: ${message}`,
})

/** Settles rows that an earlier run of the chain wrote or deleted, and rows whose earlier create stays unanswered. */
export const settleInherited = async (pass: Pass, inheritedRows: InheritedRow[]): Promise<void> => {
  const {ctx, flow} = pass
  const settled = emptySettlement()
  for (const {row, outcome, mayExistTwice, entry, ...details} of inheritedRows) {
    logOutcome({flow, settled}, row, outcome, {...details, attempt: row.attempt})
    if (mayExistTwice) logMayExistTwice({flow, settled}, row, details)
    if (entry && !ctx.run.dryRun) settled.opened.push(entry)
  }
  await settleRows(
    pass,
    settled,
    inheritedRows.map(({row}) => row),
  )
}

/** Commits the settlement of rows. The rows leave the window just before the statement is built, so that the stored cursor covers them. */
export const settleRows = ({ctx, window}: Pass, settled: SettlementParts, rows: Pick<ImportRow, 'number'>[]): Promise<void> => {
  const leave = () => {
    for (const {number} of rows) window.leave(number)
  }
  return ctx.settler.settle({...settled, leave})
}
