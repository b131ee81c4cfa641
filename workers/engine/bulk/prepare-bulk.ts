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
 * Reads the records of updates again for edits and before images, because rows may have waited for minutes. Kept edits remove fields from rows, so
 * only the largest group with equal fields stays in the file. Returns creates unchanged. Record calls store their before images themselves.
 */
export const prepareBulk = async (pipeline: RowPipeline, {kind, ops, isForRecords}: BulkRows): Promise<PreparedRows> => {
  const {ctx, flow, bulk} = pipeline
  if (kind === 'create' || (!flow.edits && (isForRecords || !ctx.images))) return {rows: {kind, ops}, ended: [], others: []}
  const {updates, ended} = await keepLaterEdits(pipeline, ops)
  if (isForRecords) return {rows: {kind, ops: []}, ended, others: updates}
  const fitting = updates.filter(op => fits(bulk!.route, flow, kind, op))
  const groups = [...Map.groupBy(fitting, ({row}) => nameGroup(kind, row)).values()].sort((one, other) => other.length - one.length)
  const largest = new Set(groups[0] ?? [])
  await keepImages(ctx, flow, [...largest])
  for (const {row} of ops) row.known = undefined
  return {rows: {kind, ops: [...largest]}, ended, others: updates.filter(op => !largest.has(op))}
}

/**
 * Prepares for record calls the rows that a job did not write or did not report. Compares updates again if the flow keeps edits, the rows waited for
 * the job, and the run continues. `ended`: rows that were settled without a write.
 */
export const prepareUnsent = async (
  pipeline: RowPipeline,
  kind: BulkKind,
  {unsent, next, ending, hasWaited}: BulkResult,
): Promise<Pick<BulkResult, 'unsent' | 'next'> & {ended: ImportRow[]}> => {
  for (const {row} of unsent) row.isByRecords = true
  if (kind === 'create' || !pipeline.flow.edits || ending || !hasWaited) return {unsent, next, ended: []}
  const again = [...next].flatMap(([row, step]): Op[] => (step === 'again' ? [{row, target: row.decided!.target}] : []))
  const {updates, ended} = await keepLaterEdits(pipeline, [...unsent, ...again])
  const over = new Set(ended)
  return {
    unsent: updates.filter(({row}) => !next.has(row)),
    next: new Map([...next].filter(([row]) => !over.has(row))),
    ended,
  }
}
