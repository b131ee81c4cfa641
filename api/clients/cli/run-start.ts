import {ApiError, type Json, Unreachable} from '../http.ts'
import {Failure, failureOf} from './failure.ts'
import type {Session} from './session.ts'

/**
 * `undoOf`: the run that the new run undoes. `planOf`: the dry run whose sealed plan the new run applies. `signal`: the interrupt of a command that
 * handles signals. After it, no run starts.
 */
type Start = {
  signal?: AbortSignal
  declaredRows?: number
  confirmDeletes?: number
  retryOf?: string
  undoOf?: string
  planOf?: string
  force?: 'created'
  dryRun?: boolean
  rows?: {from?: number; to?: number}
  match?: 'query' | 'snapshot' | 'auto'
  verify?: 'off' | 'sample' | 'all'
  write?: 'records' | 'bulk' | 'auto'
}

/** Starts a run. If the response was lost, returns the run of this kind that was started meanwhile; throws if there is none. */
export const startRun = async ({client, path}: Session, importId: string, {signal, ...start}: Start): Promise<Json> => {
  const at = path(`imports/${importId}/runs`)
  const before = new Set((await client.get(at, {limit: 200}, signal)).runs.map(({id}: Json) => id))
  const {undoOf, ...body} = start
  try {
    return (await client.post(undoOf ? `${at}/${undoOf}/undo` : at, body)).run
  } catch (error) {
    const isUnknown = error instanceof Unreachable || (error instanceof ApiError && ['HTTP_502', 'HTTP_504'].includes(error.code))
    if (!isUnknown) throw error
    const {runs} = await client.get(at, {limit: 200}).catch(() => ({runs: []}))
    const begun = runs.find((run: Json) => !before.has(run.id) && isRequested(run, start))
    if (begun) return begun
    const next = `The run may have started. Check with: lading runs ${importId}   If it has not started, run the same command again`
    throw new Failure((error as Error).message, {...failureOf(error), next})
  }
}

/**
 * Whether a run is of the requested kind, because another person may have started another one. A retry can continue a later retry than the requested
 * run, and keeps the plan of the run that it retries.
 */
const isRequested = (run: Json, {dryRun = false, undoOf, planOf, retryOf}: Start) =>
  run.dryRun === dryRun &&
  run.undoOf === (undoOf ?? null) &&
  Boolean(run.retryOf) === Boolean(retryOf) &&
  (run.planOf === (planOf ?? null) || Boolean(retryOf))
