import {setDone} from '../../../sql/bulk-jobs.ts'
import type {Context} from '../context.ts'
import type {CompiledFlow, ImportRow} from '../model.ts'
import {assertOwner} from '../run-endings.ts'
import {inBatches} from '../send/admission.ts'
import type {BatchResult} from '../send/send-batch.ts'
import {settleAnswers} from '../settle/settle-answers.ts'
import type {NextStep, Op} from '../settle/verdict.ts'
import type {AwaitedJob} from './await-job.ts'
import type {BulkKind} from './bulk-batches.ts'
import {answerOf, readResults} from './read-answers.ts'

/** A job that ended, was abandoned or could not be found. */
type EndedJob = AwaitedJob & {no: number; kind: BulkKind}
/** The rows in flight, in the order of their batches, each with its key in the file. */
type RowsInFlight = {batches: number[]; ops: Op[]; keys: string[]}

/**
 * Settles the rows of a job, batch by batch. Returns rows that the CRM did not write as `unsent`, for record calls. Rows without a result are
 * unanswered. `leave`: called for each row that ended, or whose record must be searched for in the CRM.
 */
export const settleJob = async (
  ctx: Context,
  flow: CompiledFlow,
  {no, kind, url, endedAt, isAbandoned}: EndedJob,
  {batches, ops, keys}: RowsInFlight,
  leave: (row: ImportRow) => void,
): Promise<BatchResult> => {
  const results = url === null ? null : await readResults(ctx, url, keys)
  const next = new Map<ImportRow, NextStep>()
  const unsent: Op[] = []
  const judged = ops.map((op, at) => ({op, answer: answerOf(op.target, results?.get(keys[at]!), endedAt)}))
  for (const [at, piece] of inBatches(judged).entries()) {
    const answered = piece.flatMap(({op, answer}) => (answer === 'unsent' ? [] : [{op, answer}]))
    const left = piece.filter(({answer}) => answer === 'unsent').map(({op}) => op)
    const batch = {batches: [batches[at]!], ops: answered.map(({op}) => op), unsent: left}
    const answers = {answers: answered.map(({answer}) => answer), clockOffsetMs: null}
    const settled = await settleAnswers(ctx, flow, kind, batch, answers, leave)
    for (const [row, step] of settled.next) next.set(row, step)
    unsent.push(...left)
  }
  assertOwner(await setDone(ctx.db, {run: ctx.run.no, no, fence: ctx.lease.fence, isAbandoned}))
  return {next, unsent, ending: null}
}
