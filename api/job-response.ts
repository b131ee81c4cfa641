import {setTimeout as sleep} from 'node:timers/promises'
import {Refusal} from '../shared/errors.ts'
import {type JobState, readJob} from '../shared/queue.ts'
import {findJob} from '../sql/jobs.ts'
import type {MemberCaller} from './access.ts'
import {type Reply, reply} from './reply.ts'
import type {ApiDeps, ApiRequest} from './route.ts'

/** The parts of a request that say how long to wait and when to give up. */
export type Waiter = Pick<ApiRequest, 'headers' | 'signal' | 'draining'>
type WaitDeps = Pick<ApiDeps, 'queue'> & {request: Waiter}
type TrackedJobInput = WaitDeps & Pick<ApiDeps, 'db'> & {caller: MemberCaller}

const longestWaitSeconds = 60
const lookAgainMs = [25, 50, 100, 250]
const ENDED = ['done', 'refused', 'failed', 'cancelled']
export const hasEnded = ({state}: {state: JobState | undefined}) => ENDED.includes(state!)

/**
 * Responds to a request that enqueued a job (RFC 7240): 202 with a Location, or 200 if the job ends within `Prefer: wait=N` seconds. `more` is merged
 * into the body. Throws BUSY if `id` is null, which means that a job with the same key has just ended.
 */
export const answerJob = (input: TrackedJobInput, id: string | null, name: string, more: object = {}): Promise<Reply> =>
  answerSent(input, {id, name, location: `/orgs/${input.caller.org}/jobs/${id}`, describe: () => describeJob(input, id!)}, more)

type SentJob = {id: string | null; name: string; location: string; describe(): Promise<{state: JobState | undefined}>}

/** Like `answerJob`, but for a job without an org. `location` is the URL of the job. */
export const answerSent = async (input: WaitDeps, {id, name, location, describe}: SentJob, more: object = {}): Promise<Reply> => {
  if (id === null) throw new Refusal('BUSY', 'The same job has just ended. Send the request again', {retryAfterMs: 1000})
  const {waitSeconds, applied} = readPreference(input.request.headers.prefer)
  await waitForEnd(input, {id, name, seconds: waitSeconds})
  const job = await describe()
  return reply({
    status: waitSeconds > 0 && hasEnded(job) ? 200 : 202,
    headers: {location, ...(applied && {'preference-applied': applied})},
    json: {...more, job},
  })
}

/** Reads a job with its progress. Throws NOT_FOUND for a job of another org and for a job that the queue has deleted. */
export const describeJob = async ({db, queue, caller}: Omit<TrackedJobInput, 'request'>, id: string) => {
  const tracked = await findJob(db, {org: caller.org, id})
  const found = tracked && (await readJob(queue, {name: tracked.queue, id}))
  if (!found) throw new Refusal('NOT_FOUND', 'There is no such job, or it ended too long ago')
  const {done, total, unit} = tracked
  return {...found, progress: done === null ? null : {done, total, unit}}
}

type WaitForEndOptions = {id: string; name: string; seconds: number; isSettled?: (() => Promise<boolean>) | undefined}

/** Waits until the job ends, `isSettled` returns true, the time is up, the client disconnects or this process drains. */
export const waitForEnd = async ({queue, request}: WaitDeps, {id, name, seconds, isSettled}: WaitForEndOptions) => {
  const deadline = Date.now() + seconds * 1000
  const over = AbortSignal.any([request.signal, request.draining])
  for (let look = 0; Date.now() < deadline && !over.aborted; look++) {
    const job = await readJob(queue, {name, id})
    if (!job || hasEnded(job) || (await isSettled?.())) return
    const pauseMs = isSettled ? 1_000 : (lookAgainMs[look] ?? lookAgainMs.at(-1)!)
    await sleep(Math.min(pauseMs, Math.max(0, deadline - Date.now())), undefined, {signal: over}).catch(() => {})
  }
}

/** Parses the `Prefer` header. Returns the wait (at most 60 seconds; 0 without `wait`), and the value for `Preference-Applied` or null. */
export const readPreference = (header: string | string[] | undefined) => {
  const wishes = [header ?? []].flat().join(',')
  const [, seconds] = /(?:^|[,;\s])wait\s*=\s*"?(\d{1,9})"?(?=$|[,;\s])/i.exec(wishes) ?? []
  if (seconds !== undefined) {
    const waitSeconds = Math.min(Number(seconds), longestWaitSeconds)
    return {waitSeconds, applied: `wait=${waitSeconds}`}
  }
  return {waitSeconds: 0, applied: /(?:^|[,\s])respond-async(?=$|[,;\s])/i.test(wishes) ? 'respond-async' : null}
}
