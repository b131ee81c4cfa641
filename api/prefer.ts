import {setTimeout as sleep} from 'node:timers/promises'
import {Refusal} from '../shared/errors.ts'
import {type JobState, readJob} from '../shared/queue.ts'
import {findJob} from '../sql/jobs.ts'
import type {Member} from './access.ts'
import {type Reply, reply} from './reply.ts'
import type {Asked, Tools} from './route.ts'

/** What of a request says how long somebody waits. */
export type Waiter = Pick<Asked, 'headers' | 'signal' | 'draining'>
type Waiting = Pick<Tools, 'queue'> & {request: Waiter}
type Tracked = Waiting & Pick<Tools, 'db'> & {caller: Member}

const longestWaitSeconds = 60
const lookAgainMs = [25, 50, 100, 250]
const ENDED = ['done', 'refused', 'failed', 'cancelled']
export const hasEnded = ({state}: {state: JobState | undefined}) => ENDED.includes(state!)

/**
 * The answer of a route that enqueued (RFC 7240): 202 and where to look; with `Prefer: wait=N`, 200 if the job ends
 * within N seconds. `more` stands beside `job` in the body. `id` is what `enqueue` gave; null means that a job of the
 * same key ended just then.
 */
export const answerJob = (input: Tracked, id: string | null, name: string, more: object = {}): Promise<Reply> =>
  answerSent(input, {id, name, location: `/orgs/${input.caller.org}/jobs/${id}`, describe: () => describeJob(input, id!)}, more)

type Sent = {id: string | null; name: string; location: string; describe(): Promise<{state: JobState | undefined}>}

/** The same for a job of no org: `location` is where it is read, `describe` how. */
export const answerSent = async (input: Waiting, {id, name, location, describe}: Sent, more: object = {}): Promise<Reply> => {
  if (id === null) throw new Refusal('BUSY', 'The same thing was being done and has just ended: ask again', {retryAfterMs: 1000})
  const {waitSeconds, applied} = readPreference(input.request.headers.prefer)
  await waitForEnd(input, {id, name, seconds: waitSeconds})
  const job = await describe()
  return reply({
    status: waitSeconds > 0 && hasEnded(job) ? 200 : 202,
    headers: {location, ...(applied && {'preference-applied': applied})},
    json: {...more, job},
  })
}

/** Our job as its org reads it. NOT_FOUND for another org's, and once the queue has forgotten it. */
export const describeJob = async ({db, queue, caller}: Omit<Tracked, 'request'>, id: string) => {
  const tracked = await findJob(db, {org: caller.org, id})
  const found = tracked && (await readJob(queue, {name: tracked.queue, id}))
  if (!found) throw new Refusal('NOT_FOUND', 'No such job, or it ended too long ago')
  const {done, total, unit} = tracked
  return {...found, progress: done === null ? null : {done, total, unit}}
}

type WaitForEndOptions = {id: string; name: string; seconds: number; isSettled?: (() => Promise<boolean>) | undefined}

/** Until the job has ended, the time is up, the client is gone or this process is asked to stop. */
export const waitForEnd = async ({queue, request}: Waiting, {id, name, seconds, isSettled}: WaitForEndOptions) => {
  const deadline = Date.now() + seconds * 1000
  const over = AbortSignal.any([request.signal, request.draining])
  for (let look = 0; Date.now() < deadline && !over.aborted; look++) {
    const job = await readJob(queue, {name, id})
    if (!job || hasEnded(job) || (await isSettled?.())) return
    const pauseMs = isSettled ? 1_000 : (lookAgainMs[look] ?? lookAgainMs.at(-1)!)
    await sleep(Math.min(pauseMs, Math.max(0, deadline - Date.now())), undefined, {signal: over}).catch(() => {})
  }
}

/** What the request prefers: how long it would wait, and what of its wish is honoured; null when it has none. */
export const readPreference = (header: string | string[] | undefined) => {
  const wishes = [header ?? []].flat().join(',')
  const [, seconds] = /(?:^|[,;\s])wait\s*=\s*"?(\d{1,9})"?(?=$|[,;\s])/i.exec(wishes) ?? []
  if (seconds !== undefined) {
    const waitSeconds = Math.min(Number(seconds), longestWaitSeconds)
    return {waitSeconds, applied: `wait=${waitSeconds}`}
  }
  return {waitSeconds: 0, applied: /(?:^|[,\s])respond-async(?=$|[,;\s])/i.test(wishes) ? 'respond-async' : null}
}
