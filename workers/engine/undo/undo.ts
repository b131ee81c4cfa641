import {elementsAtOnce} from '../../../shared/crm/subforms.ts'
import {UNDO_CURSOR} from '../../../shared/runs/undo/start-undo.ts'
import {loseEarlier} from '../../../sql/replacements.ts'
import {finishFlow, listCursors} from '../../../sql/run-cursors.ts'
import {keepUndoStrict} from '../../../sql/undo.ts'
import type {Context} from '../context.ts'
import {openRowWindow} from '../read/window.ts'
import {answerSecondsOf} from '../send/admission.ts'
import {emptySettlement} from '../settle/settler.ts'
import {holderOf, readsAtOnce} from '../subform/pack.ts'
import {isStrict, rowOf, type UndoPass, undoBatch} from './undo-batch.ts'
import {openUndoSource, readUndoRecords, type UndoRecord} from './undo-source.ts'
import type {UndoRow} from './undo-verdict.ts'

const recordsAtOnce = 100
/** The number of batches in progress for each slot. A batch needs no slot while its before images, intent and settlement are stored. */
const batchesPerSlot = 2

/**
 * Whether one request, of at most `readsAtOnce` records, has room for the subform rows of another record. Adds up the rows that the run
 * sent and the rows to restore. The record has no other rows, because only unedited rows are replaced.
 */
const fitsRows = (batch: UndoRow[], record: UndoRecord) =>
  batch.length < readsAtOnce &&
  [...batch.map(({undone}) => undone), record].reduce((sum, one) => sum + countElements(one), 0) <= elementsAtOnce

const countElements = ({before, sent}: UndoRecord) => [...Object.values(before), ...Object.values(sent)].flat().length

/**
 * Undoes the run that this run names, record by record. The records always come in the same order, so the cursor is the low-water mark of
 * their numbers.
 */
export const runUndo = async (ctx: Context): Promise<void> => {
  const [cursor] = await listCursors(ctx.db, ctx.run.no)
  if (!cursor || cursor.done) return
  const source = await openUndoSource(ctx)
  if (!ctx.run.dryRun) await loseEarlier(ctx.db, {...holderOf(ctx), seconds: answerSecondsOf(ctx)})
  await keepUndoStrict(ctx.db, {run: ctx.run.no, strict: isStrict(ctx)})
  const window = openRowWindow(cursor.lowWater)
  ctx.settler.follow(() => ({flow: UNDO_CURSOR, lowWater: window.lowWater()}))
  const pass = {ctx, source, window}
  const position = {no: 0}
  for (const effects of source.passes) await runEffects(pass, effects, {position, lowWater: cursor.lowWater})
  await ctx.settler.settle(emptySettlement())
  await finishFlow(ctx.db, {run: ctx.run.no, flow: UNDO_CURSOR})
}

type Position = {position: {no: number}; lowWater: number}

/** Undoes the records of one pass. Sends up to `batchesPerSlot` batches at once for each slot of the CRM. Ends when all batches are settled. */
const runEffects = async (pass: UndoPass, effects: Parameters<typeof readUndoRecords>[2], {position, lowWater}: Position) => {
  const {ctx, source, window} = pass
  const underWay = new Set<Promise<void>>()
  let failure: {error: unknown} | null = null
  let batch: UndoRow[] = []
  const launch = async () => {
    const work = undoBatch(pass, batch)
      .catch(error => {
        failure ??= {error}
      })
      .finally(() => underWay.delete(work))
    batch = []
    underWay.add(work)
    while (underWay.size >= batchesPerSlot * ctx.config.CRM_SLOTS && !failure) await Promise.race(underWay)
  }
  try {
    for await (const undone of readUndoRecords(ctx, source, effects)) {
      if (failure) break
      const no = ++position.no
      if (no <= lowWater) continue
      const [first] = batch
      const isFull = undone.effect === 'rows' ? !fitsRows(batch, undone) : batch.length === recordsAtOnce
      if (first && (isFull || first.undone.flow !== undone.flow || first.undone.effect !== undone.effect)) await launch()
      window.enter(no, 0)
      batch.push(rowOf(no, undone))
    }
    if (batch.length > 0 && !failure) await launch()
  } finally {
    await Promise.all(underWay)
  }
  if (failure) throw (failure as {error: unknown}).error
}
