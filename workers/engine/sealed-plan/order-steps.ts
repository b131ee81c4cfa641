import {randomUUID} from 'node:crypto'
import {Readable} from 'node:stream'
import {Refusal} from '../../../shared/errors.ts'
import {atPoint} from '../../../shared/fault-point.ts'
import type {PlannedValues} from '../../../shared/runs/results/planned-values.ts'
import {openRowSort, type RowSort} from '../../../shared/runs/results/row-sort.ts'
import {firstHash, hashChunk, lineOfStep, type PlanStep, stepsPerChunk} from '../../../shared/runs/sealed-plan/plan-step.ts'
import {itemsOf, linesOf, packLines, readLines, SEGMENT_FORMAT} from '../../../shared/runs/segment.ts'
import {deletePlan, insertPlan, insertPlanChunk} from '../../../sql/sealed-plans.ts'
import {insertLoose, insertSegments, listSegments, nameLoose, PLAN_LIST, type Segment, STEP_LIST} from '../../../sql/segments.ts'
import type {OfflineContext} from '../context.ts'
import {RunPaused} from '../run-endings.ts'

/** `piece`: the first line of the step's segment. If another owner planned the row again, the step of the later segment is used. */
type FoundStep = PlanStep & {piece: number}

const segmentsPerLook = 100

/**
 * Stores the plan of a complete dry run. Steps are sorted by flow, row and phase, in chunks with chained hashes. Deletes a part that an
 * earlier owner stored, and starts over. Pauses the run if its segments cannot be read from storage.
 */
export const orderSteps = async (ctx: OfflineContext): Promise<void> => {
  const sorting = openRowSort<FoundStep>({compare, sizeOf: () => 200})
  try {
    await ctx.db.transaction(tx => deletePlan(tx, ctx.run.no))
    await readSteps(ctx, sorting)
    await storePlan(ctx, sorting)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    throw new RunPaused('UNAVAILABLE', `${error.message}. The run resumes automatically`, 30)
  } finally {
    await sorting.close()
  }
}

const readSteps = async ({db, storage, run, lease}: OfflineContext, sorting: RowSort<FoundStep>) => {
  for (let from = 1, segments: readonly Segment[] = []; ; from = segments.at(-1)!.last + 1) {
    segments = await listSegments(db, {run: run.no, list: PLAN_LIST, from, limit: segmentsPerLook})
    for (const segment of segments) {
      lease.lost.throwIfAborted()
      const planned = itemsOf<PlannedValues>(await readLines(storage, segment))
      await sorting.add(
        planned.flatMap(({step, ...of}) => (step ? [{...step, flow: of.flow, row: of.row, phase: of.phase, piece: segment.first}] : [])),
      )
    }
    if (segments.length < segmentsPerLook) return
  }
}

const storePlan = async (ctx: OfflineContext, sorting: RowSort<FoundStep>) => {
  const plan = {digest: firstHash, chunks: 0, steps: 0, rows: 0}
  let chunk: PlanStep[] = []
  let last: PlanStep | null = null
  const store = async () => {
    if (chunk.length === 0) return
    plan.digest = await storeChunk(ctx, {
      steps: chunk,
      chunk: ++plan.chunks,
      previous: plan.digest,
      firstLine: plan.steps - chunk.length + 1,
    })
    chunk = []
  }
  for await (const found of sorting.sorted()) {
    for (const step of found) {
      const isSameRow: boolean = last !== null && last.flow === step.flow && last.row === step.row
      if (isSameRow && last!.phase === step.phase) continue
      if (chunk.length === stepsPerChunk || (last && last.flow !== step.flow)) await store()
      chunk.push(step)
      plan.steps++
      if (!isSameRow) plan.rows++
      last = step
    }
  }
  await store()
  await insertPlan(ctx.db, {run: ctx.run.no, ...plan})
}

type NewChunk = {steps: PlanStep[]; chunk: number; previous: string; firstLine: number}

const storeChunk = async ({db, storage, run, lease}: OfflineContext, {steps, chunk, previous, firstLine}: NewChunk): Promise<string> => {
  lease.lost.throwIfAborted()
  const items = steps.map(lineOfStep)
  const {packed, ...lines} = await packLines(items)
  const hash = hashChunk(previous, linesOf(items))
  const key = `${run.org}/runs/${run.id}/steps-${randomUUID()}.ndjson.gz`
  await insertLoose(db, key)
  await storage.put(key, Readable.from([packed]))
  atPoint('in_plan')
  const [{flow, row: firstRow}, {row: lastRow}] = [steps[0]!, steps.at(-1)!]
  await db.transaction(async tx => {
    const last = firstLine + steps.length - 1
    const segment = {list: STEP_LIST, first: firstLine, last, ...lines, format: SEGMENT_FORMAT, storage: storage.kind, key}
    await insertSegments(tx, {run: run.no, segments: [segment]})
    await insertPlanChunk(tx, {run: run.no, chunk, flow, firstRow, lastRow, firstLine, hash})
    await nameLoose(tx, [key])
  })
  return hash
}

const phaseNo = ({phase}: PlanStep) => Number(phase === 'patch')
const compare = (a: FoundStep, b: FoundStep) => a.flow - b.flow || a.row - b.row || phaseNo(a) - phaseNo(b) || b.piece - a.piece
