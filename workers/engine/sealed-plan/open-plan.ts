import {buffer} from 'node:stream/consumers'
import {promisify} from 'node:util'
import {gunzip} from 'node:zlib'
import {mapAhead} from '../../../shared/concurrency/map-ahead.ts'
import {firstHash, hashChunk, type PlanStep, stepOfLine} from '../../../shared/runs/sealed-plan/plan-step.ts'
import {itemsOf} from '../../../shared/runs/segment.ts'
import {adviseToContinue} from '../../../shared/runs/stop.ts'
import {findPlan, listChunksOfRows, listPlanChunks, type PlanChunk} from '../../../sql/sealed-plans.ts'
import {listSegments, STEP_LIST} from '../../../sql/segments.ts'
import type {LedgerContext} from '../context.ts'
import {RunPaused, RunStopped} from '../run-endings.ts'

type Phase = PlanStep['phase']

export type OpenPlan = {
  /** Returns the steps of these rows, by row number. A row without a step is not written. */
  stepsOf(flow: number, phase: Phase, rows: readonly number[]): Promise<Map<number, PlanStep>>
}

type PlanContext = Pick<LedgerContext, 'db' | 'storage' | 'run'>

/** The maximum number of chunks in memory. Subform rows come in the order of their parents, so their steps are spread over many chunks. */
const mostOpen = 64
const chunksPerLook = 100
const readAhead = 4
const mostBytes = 64 * 1024 ** 2
const unpack = promisify(gunzip)

/**
 * Opens the sealed plan that the run applies. First compares every chunk with its hash, so that no row of an altered plan is written. Stops
 * the run at the first chunk that differs. Returns null if the run applies no plan.
 */
export const openPlan = async (ctx: PlanContext): Promise<OpenPlan | null> => {
  const {db, run} = ctx
  if (run.planNo === null) return null
  await checkPlan(ctx, run.planNo)
  const open = new Map<number, Promise<PlanStep[]>>()
  const read = (chunk: PlanChunk) => {
    const steps = open.get(chunk.chunk) ?? readChunk(ctx, run.planNo!, chunk)
    open.delete(chunk.chunk)
    open.set(chunk.chunk, steps)
    if (open.size > mostOpen) open.delete(open.keys().next().value!)
    return steps
  }
  return {
    async stepsOf(flow, phase, rows) {
      if (rows.length === 0) return new Map()
      const wanted = new Set(rows)
      const found = new Map<number, PlanStep>()
      for (const chunk of await listChunksOfRows(db, {run: run.planNo!, flow, rows}))
        for (const step of await read(chunk)) if (step.phase === phase && wanted.has(step.row)) found.set(step.row, step)
      return found
    },
  }
}

const checkPlan = async (ctx: PlanContext, run: number) => {
  const plan = await findPlan(ctx.db, run)
  if (!plan?.sealedAt) throw changed(ctx, 'The plan is no longer stored')
  const {digest: sealed} = plan
  let last = {chunk: 0, hash: firstHash}
  for await (const chunk of mapAhead(listChunks(ctx, run), {count: readAhead}, async one => {
    await readChunk(ctx, run, one)
    return one
  }))
    last = chunk
  if (last.chunk !== plan.chunks || last.hash !== sealed) throw changed(ctx, 'The digest of the stored plan is not the one that was sealed')
}

async function* listChunks({db}: PlanContext, run: number): AsyncGenerator<PlanChunk> {
  for (let after = 0, chunks: readonly PlanChunk[] = []; ; after = chunks.at(-1)!.chunk) {
    chunks = await listPlanChunks(db, {run, after, limit: chunksPerLook})
    yield* chunks
    if (chunks.length < chunksPerLook) return
  }
}

/** Reads the steps of a chunk. Stops the run if the stored lines do not match the chunk's hash. Pauses it if storage is unavailable. */
const readChunk = async (ctx: PlanContext, run: number, chunk: PlanChunk): Promise<PlanStep[]> => {
  const {db, storage} = ctx
  const {chunk: number, firstRow, lastRow, previous} = chunk
  const differs = () => changed(ctx, `Chunk ${number} of the stored plan (rows ${firstRow} to ${lastRow}) is not as it was sealed`)
  const [segment] = await listSegments(db, {run, list: STEP_LIST, from: chunk.firstLine, limit: 1})
  if (segment?.first !== chunk.firstLine || (number > 1 && previous === null)) throw differs()
  const stored = await storage.read(segment.key).then(buffer).catch(unavailable)
  const lines = await unpack(stored, {maxOutputLength: mostBytes}).catch(() => null)
  if (!lines || hashChunk(previous ?? firstHash, lines) !== chunk.hash) throw differs()
  return itemsOf<Parameters<typeof stepOfLine>[0]>(lines).map(stepOfLine)
}

const unavailable = (): never => {
  throw new RunPaused('UNAVAILABLE', 'The plan cannot be read from storage at the moment. The run resumes automatically', 30)
}

const changed = ({run}: PlanContext, why: string) =>
  new RunStopped({
    stopped: 'PLAN_CHANGED',
    message: `${why}, so nothing more is written. Start a new dry run and seal its plan. ${adviseToContinue(run)}`,
  })
