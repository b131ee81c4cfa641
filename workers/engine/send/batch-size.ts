import {elementsAtOnce} from '../../../shared/crm/subforms.ts'
import type {CompiledFlow, StepKind} from '../model.ts'
import type {RowWindow} from '../read/window.ts'
import type {Op} from '../settle/verdict.ts'
import {countNested} from './nested-rows.ts'

export const stepKinds = ['create', 'update', 'delete'] as const satisfies StepKind[]
const rowsPerBatch = 100
/**
 * The maximum number of rows per batch after an unanswered create without a unique key. Such a create takes many calls to settle. Applies
 * to `batchesAfterLoss` batches of creates, and only while a waiting create has no unique key.
 */
const rowsAfterLoss = 10
export const batchesAfterLoss = 20

type PartBatches = {flow: CompiledFlow; partBatches: Record<StepKind, Op[]>; smallBatchesLeft: number}

export const isBatchFull = (waiting: PartBatches, kind: StepKind): boolean => {
  const {length} = waiting.partBatches[kind]
  return length >= mostRows(waiting, kind) || countFitting(waiting, kind) < length
}

/**
 * Removes the next batch from the waiting operations. It has at most 100 operations, or `rowsAfterLoss` creates, and fits into one request
 * with its nested rows.
 */
export const takeBatch = (waiting: PartBatches, kind: StepKind): Op[] => {
  const most = mostRows(waiting, kind)
  const ops = waiting.partBatches[kind].splice(0, Math.min(most, countFitting(waiting, kind)))
  if (most < rowsPerBatch) waiting.smallBatchesLeft--
  return ops
}

/**
 * Returns the kind whose part-filled batch contains the oldest open row, if this row is far behind the last row read. Without this, a rare
 * kind of step would wait for the end of the file.
 */
export const listLateKinds = ({window, partBatches}: Pick<PartBatches, 'partBatches'> & {window: RowWindow}): StepKind[] => {
  if (!window.isStretched()) return []
  const oldest = window.lowWater() + 1
  return stepKinds.filter(kind => partBatches[kind].some(({row}) => row.number === oldest))
}

const mostRows = ({smallBatchesLeft, partBatches}: PartBatches, kind: StepKind) =>
  smallBatchesLeft > 0 && kind === 'create' && partBatches.create.some(({row}) => !row.hasUniqueKey) ? rowsAfterLoss : rowsPerBatch

const countFitting = ({partBatches, flow}: PartBatches, kind: StepKind): number => {
  let elements = 0
  const past = flow.nestedFlows ? partBatches[kind].findIndex(({row}, at) => (elements += countNested(row)) > elementsAtOnce && at > 0) : -1
  return past < 0 ? partBatches[kind].length : past
}
