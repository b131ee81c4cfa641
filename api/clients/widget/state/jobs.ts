import type {Json} from '../../http.ts'
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

/** Follows a job until it has ended; one that came to nothing is thrown with its reason. `tell` hears of every step. */
export const followJob = async (id: string, {signal, tell}: {signal?: AbortSignal; tell?: (job: Job) => void} = {}): Promise<Job> => {
  for (const until = Date.now() + mostMs; Date.now() < until; ) {
    const job = await client.get<Job>(inOrg(`/jobs/${id}`), {}, signal)
    tell?.(job)
    if (job.state === 'done') return job
    if (job.state === 'refused' || job.state === 'failed' || job.state === 'cancelled') throw new Error(reasonOf(job))
    await pause(waitSeconds * 1000, signal)
  }
  throw new Error('It takes longer than half an hour: look again later')
}

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
