import {keepLaterEdits} from '../edits/keep-edits.ts'
import type {ImportRow, StepKind} from '../model.ts'
import type {RowPipeline} from '../pipeline-state.ts'
import type {Op} from '../settle/verdict.ts'

type PipelineSteps = {
  follow(work: Promise<void>): void
  wait(ms: number): Promise<void>
  end(rows: ImportRow[]): void
  send(op: Op): void
}

const lookMs = 50

/**
 * Returns the operations that may be sent now: those of canary rows, or all if the canary of this kind is verified. Sends the other operations
 * after the verification. Updates among them are first compared with their records again.
 */
export const holdBehindCanary = (pipeline: RowPipeline, kind: StepKind, ops: Op[], {follow, wait, end, send}: PipelineSteps): Op[] => {
  const {ctx, flow, closing, behindCanary} = pipeline
  const {now, later} = ctx.canary?.split(flow, kind, ops) ?? {now: ops, later: []}
  const sendLater = async () => {
    const over = AbortSignal.any([ctx.signal, closing.signal])
    while (!(await ctx.canary!.pass(flow, kind, over))) await wait(lookMs)
    const waited = behindCanary[kind].splice(0)
    // The records of bulk updates are read when their file is prepared.
    const compared = new Set(kind === 'update' ? waited.filter(op => !bulkFor(pipeline, kind)?.holds(kind, op)) : [])
    const {updates, ended} = await keepLaterEdits(pipeline, [...compared])
    end(ended)
    for (const op of [...waited.filter(op => !compared.has(op)), ...updates]) send(op)
  }
  const isFirst = behindCanary[kind].length === 0
  behindCanary[kind].push(...later)
  if (isFirst && later.length > 0) follow(sendLater())
  return now
}

/** Counts the pipeline's unfinished tasks that only wait for a canary: one for each kind with waiting operations. */
export const countBehindCanary = ({behindCanary}: RowPipeline): number =>
  Object.values(behindCanary).filter(({length}) => length > 0).length

/**
 * Returns the bulk batches of the flow. Null if the flow does not write in bulk, or while the kind waits for its canary, because record
 * calls write the canary rows.
 */
export const bulkFor = ({ctx, flow, bulk}: RowPipeline, kind: StepKind): RowPipeline['bulk'] =>
  ctx.canary?.isPassed(flow, kind) === false ? null : bulk
