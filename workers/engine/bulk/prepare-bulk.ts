import {keepLaterEdits} from '../edits/keep-edits.ts'
import {keepImages} from '../images/before-images.ts'
import type {ImportRow} from '../model.ts'
import type {RowPipeline} from '../pipeline-state.ts'
import type {Op} from '../settle/verdict.ts'
import {type BulkKind, type BulkRows, fits, nameGroup} from './bulk-batches.ts'
import type {BulkResult} from './send-bulk.ts'

/** `ended`: rows that were settled without a write. `others`: updates that are not in this file; record calls write them. */
type PreparedRows = {rows: BulkRows; ended: ImportRow[]; others: Op[]}

/**
 * Reads the records of updates again for edits and before images, because rows may have waited for minutes. Kept edits remove fields from
 * rows, so only the largest group with equal fields stays in the file. Creates stay as they are.
 */
export const prepareBulk = async (pipeline: RowPipeline, {kind, ops}: BulkRows): Promise<PreparedRows> => {
  const {ctx, flow, bulk} = pipeline
  if (kind === 'create' || (!flow.edits && !ctx.images)) return {rows: {kind, ops}, ended: [], others: []}
  const {updates, ended} = await keepLaterEdits(pipeline, ops)
  const fitting = updates.filter(op => fits(bulk!.route, flow, kind, op))
  const groups = [...Map.groupBy(fitting, ({row}) => nameGroup(kind, row)).values()].sort((one, other) => other.length - one.length)
  const largest = new Set(groups[0] ?? [])
  await keepImages(ctx, flow, [...largest])
  for (const {row} of ops) row.known = undefined
  return {rows: {kind, ops: [...largest]}, ended, others: updates.filter(op => !largest.has(op))}
}

/**
 * Prepares rows that a job did not write for record calls. Compares updates again if they waited for the job and the run goes on. `ended`: rows
 * that were settled without a write.
 */
export const prepareUnsent = async (
  pipeline: RowPipeline,
  kind: BulkKind,
  {unsent, ending, hasWaited}: Pick<BulkResult, 'unsent' | 'ending' | 'hasWaited'>,
): Promise<{unsent: Op[]; ended: ImportRow[]}> => {
  for (const {row} of unsent) row.isByRecords = true
  if (kind === 'create' || !pipeline.flow.edits || ending || !hasWaited) return {unsent, ended: []}
  const {updates, ended} = await keepLaterEdits(pipeline, unsent)
  return {unsent: updates, ended}
}
