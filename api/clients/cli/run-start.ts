import {ApiError, type Json, Unreachable} from '../http.ts'
import type {Session} from './session.ts'

/** `undoOf`: the run that the new run undoes. `planOf`: the dry run whose sealed plan the new run applies. */
type Start = {
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

/** Starts a run. If the response was lost, returns the run that was started meanwhile; throws if there is none. */
export const startRun = async ({client, path}: Session, importId: string, {undoOf, ...start}: Start): Promise<Json> => {
  const at = path(`imports/${importId}/runs`)
  const before = new Set((await client.get(at, {limit: 200})).runs.map(({id}: Json) => id))
  try {
    return (await client.post(undoOf ? `${at}/${undoOf}/undo` : at, start)).run
  } catch (error) {
    const isUnknown = error instanceof Unreachable || (error instanceof ApiError && ['HTTP_502', 'HTTP_504'].includes(error.code))
    if (!isUnknown) throw error
    const {runs} = await client.get(at, {limit: 200})
    const begun = runs.find(({id}: Json) => !before.has(id))
    if (begun) return begun
    throw error
  }
}
