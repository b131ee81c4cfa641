import {ApiError, type Client, type Json, Unreachable} from './http.ts'
import {pause} from './pause.ts'

export type Job = {
  id: string
  name: string
  state: 'queued' | 'running' | 'done' | 'refused' | 'failed' | 'cancelled'
  progress: {done: number; total: number | null; unit: string} | null
  result: Json
  error: {error: string; code: string} | null
}

type Following = {client: Client; path: string; mostMs: number; signal?: AbortSignal; tell?(job: Job): unknown}

const everyMs = 1000
/** After the last response, errors are retried for this time, in ms. A restarted server responds earlier. */
const mostSilentMs = 2 * 60_000

/**
 * Polls a job until it has ended. Returns null if it still runs after `mostMs`. `tell` receives the job after each poll and is awaited.
 * Temporary errors are retried, because the job continues on the server.
 */
export const followJob = async ({client, path, mostMs, signal, tell}: Following): Promise<Job | null> => {
  let lostAt: number | null = null
  for (const until = Date.now() + mostMs; Date.now() < until; ) {
    let waitMs = everyMs
    try {
      const job = await client.get<Job>(path, {}, signal)
      lostAt = null
      await tell?.(job)
      if (job.state !== 'queued' && job.state !== 'running') return job
    } catch (error) {
      lostAt ??= Date.now()
      if (signal?.aborted || !isPassing(error) || Date.now() - lostAt > mostSilentMs) throw error
      waitMs = Math.max(waitMs, (error instanceof ApiError && error.retryAfterMs) || 0)
    }
    await pause(waitMs, signal)
  }
  return null
}

const isPassing = (error: unknown) =>
  error instanceof Unreachable || (error instanceof ApiError && [429, 502, 503, 504].includes(error.status))
