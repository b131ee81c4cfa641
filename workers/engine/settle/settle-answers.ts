import type {RecordAnswer} from '../../../shared/crm/crm.ts'
import {atPoint} from '../../../shared/fault-point.ts'
import type {Context} from '../context.ts'
import {judgeDelete} from '../delete/delete-verdict.ts'
import {voidPatchImages} from '../images/before-images.ts'
import type {BatchKind, CompiledFlow, ImportRow, StepKind} from '../model.ts'
import {judgePatch} from '../patch/patch-verdict.ts'
import {type ClaimCandidate, type ClaimVerdict, judgeClaims} from '../recover/judge-claims.ts'
import {type AdmittedBatches, lagSecondsOf} from '../send/admission.ts'
import {judgeReplaced} from '../subform/subform-verdict.ts'
import {judgeTag} from '../tag/tag-verdict.ts'
import {judgeUndo} from '../undo/undo-verdict.ts'
import {judgeNested} from './nested-verdict.ts'
import {emptySettlement} from './settler.ts'
import {admissionOf, findClaimedRecord, judgeAnswer, type NextStep, type Op} from './verdict.ts'

/** The answers to a batch, in the order of its operations. `clockOffsetMs`: the CRM's clock minus this process's clock; null if unknown. */
export type Answers = {answers: RecordAnswer[]; clockOffsetMs: number | null}

/** Deletes the batches of unsent rows. Releases the admission of metered rows without an unanswered send, nested rows included. */
export const putBack = (ctx: Context, flow: CompiledFlow, {batches, ops}: Pick<AdmittedBatches, 'batches' | 'ops'>) =>
  ctx.settler.settle({...emptySettlement(...batches), isProgress: false, released: releasedBy(flow, ops)})

const releasedBy = (flow: CompiledFlow, ops: Op[]) =>
  ops
    .flatMap(({row}) => [{row, flow}, ...(row.nested ?? []).flatMap(({flow, rows}) => rows.map(row => ({row, flow})))])
    .filter(({row}) => row.unansweredSends === 0 && row.isMetered !== false)
    .map(({row, flow}) => admissionOf(flow, row))

/**
 * Settles the answers of a batch. `leave`: called for each row that has ended, or is to be searched for. `unsent`: operations that were
 * certainly not written, so their admission is released.
 */
export const settleAnswers = async (
  ctx: Context,
  flow: CompiledFlow,
  kind: BatchKind,
  {batches, ops, unsent = []}: Pick<AdmittedBatches, 'batches' | 'ops'> & {unsent?: Op[]},
  {answers, clockOffsetMs}: Answers,
  leave: (row: ImportRow) => void,
): Promise<{next: Map<ImportRow, NextStep>; ending: Error | null}> => {
  const candidates: ClaimCandidate[] = []
  ops.forEach((op, at) => {
    const recordId = findClaimedRecord(kind, op, answers[at]!)
    if (recordId !== null) candidates.push({row: op.row, recordId})
  })
  await ctx.crmClock.note(clockOffsetMs)
  const listMade = () =>
    ops.flatMap(({row: {key}}, at) => {
      const answer = answers[at]!
      return answer.ok ? [{key, recordId: answer.recordId}] : []
    })
  const {takes, ending} = await judgeOrPutOff(ctx, flow, candidates, {clockOffsetMs, batches, listMade})
  const settled = {...emptySettlement(...batches), released: releasedBy(flow, unsent)}
  const next = new Map<ImportRow, NextStep>()
  const sent = {flow, settled, patienceMs: lagSecondsOf(ctx) * 1000, lateUpdates: ctx.lateUpdates}
  const written = {...sent, kind: kind as StepKind}
  for (let at = 0; at < ops.length; at++) {
    const op = ops[at]!
    const answer = answers[at]!
    if (!answer.ok && !answer.sent) throw new Error('A batch came back partly unsent')
    if (flow.judge === 'undo') next.set(op.row, judgeUndo(sent, op, answer))
    else if (kind === 'replace') next.set(op.row, judgeReplaced(sent, op, answer))
    else if (kind === 'delete') next.set(op.row, judgeDelete(sent, op, answer))
    else if (flow.tags) next.set(op.row, judgeTag(sent, op, answer))
    else if (flow.patchPlan) next.set(op.row, judgePatch(sent, op, answer))
    else {
      const step = judgeAnswer(written, op, answer, takes.get(op.row))
      if (kind === 'create') judgeNested(settled, op.row, answer, step)
      next.set(op.row, step)
    }
  }
  settled.leave = () => {
    next.forEach((step, row) => {
      if (step === 'end' || step === 'wait') leave(row)
    })
  }
  ctx.lease.lost.throwIfAborted()
  const refused = ops.filter((_, at) => !answers[at]!.ok)
  await voidPatchImages(ctx, flow, refused)
  atPoint('before_settle')
  ctx.lease.lost.throwIfAborted()
  await ctx.settler.settle(settled)
  return {next, ending}
}

/**
 * Judges the claims of a batch. If that fails, for example because a record cannot be read, each verdict is `later` and the error is
 * returned. The other answers of the batch are thus not lost.
 */
const judgeOrPutOff = async (
  ctx: Context,
  flow: CompiledFlow,
  candidates: ClaimCandidate[],
  answered: Parameters<typeof judgeClaims>[3],
) => {
  try {
    return {takes: await judgeClaims({...ctx, readsResults: ctx.readsResults ?? true}, flow, candidates, answered), ending: null}
  } catch (error) {
    return {takes: new Map<ImportRow, ClaimVerdict | 'later'>(candidates.map(({row}) => [row, 'later'])), ending: error as Error}
  }
}
