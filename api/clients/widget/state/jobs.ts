import {ApiError, type Json, Unreachable} from '../../http.ts'
import {client, inOrg} from './session.ts'

export type Job = {
  id: string
  state: 'queued' | 'running' | 'done' | 'refused' | 'failed' | 'cancelled'
  progress: {done: number; total: number | null; unit: string} | null
  result: Json
  error: {error: string; code?: string} | string | null
}

const waitSeconds = 1
const mostMs = 30 * 60_000
/** A server that is started anew is back by then. */
const mostSilentMs = 2 * 60_000

/**
 * Follows a job until it has ended; one that came to nothing is thrown with its reason. `tell` hears of every step. The job goes on without us:
 * a server that is silent or busy for a while is asked again.
 */
export const followJob = async (id: string, {signal, tell}: {signal?: AbortSignal; tell?: (job: Job) => void} = {}): Promise<Job> => {
  let heardAt = Date.now()
  for (const until = heardAt + mostMs; Date.now() < until; ) {
    const job = await client.get<Job>(inOrg(`/jobs/${id}`), {}, signal).catch(async error => {
      if (signal?.aborted || !isPassing(error) || Date.now() - heardAt > mostSilentMs) throw error
      await pause(Math.max(waitSeconds * 1000, (error instanceof ApiError && error.retryAfterMs) || 0), signal)
    })
    if (!job) continue
    heardAt = Date.now()
    tell?.(job)
    if (job.state === 'done') return job
    if (job.state === 'refused' || job.state === 'failed' || job.state === 'cancelled') throw new Error(reasonOf(job))
    await pause(waitSeconds * 1000, signal)
  }
  throw new Error('It takes longer than half an hour: look again later')
}

const isPassing = (error: unknown) => error instanceof Unreachable || (error instanceof ApiError && [429, 502, 503].includes(error.status))

const reasonOf = ({error, state}: Job) => {
  if (typeof error === 'string') return error
  return error?.error ?? `It was ${state}`
}

/** Rejects with the signal's reason where that aborts first. */
export const pause = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms)
    signal?.addEventListener(
      'abort',
      () => {
        clearTimeout(timer)
        reject(signal.reason)
      },
      {once: true},
    )
  })
