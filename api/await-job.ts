import type {z} from 'zod'
import {Refusal} from '../shared/errors.ts'
import {type Job, readJob} from '../shared/queue.ts'
import type {MemberCaller} from './access.ts'
import {answerJob, hasEnded, readPreference, type Waiter, waitForEnd} from './job-response.ts'
import {type Reply, reply} from './reply.ts'
import type {ApiDeps} from './route.ts'

/**
 * How a job ended. `unstarted`: no worker started it in time, so it was cancelled. `unknown`: a worker started it but reported no result,
 * so its work may have been done.
 */
type JobResult<A> = {answer: A} | 'unstarted' | 'unknown'
type Input = Pick<ApiDeps, 'db' | 'queue' | 'config'> & {caller: MemberCaller; request: Waiter}

/** Waiting ends this many seconds after the CRM timeout: time to queue the job, renew the connection's token and store the answer. */
const moreSeconds = 30

/** Polling of `isSettled` begins this many seconds after the CRM timeout. */
const callSeconds = 10

/**
 * `describe` builds the response. `more` returns further keys of a 202 response. `isSettled` is polled after the CRM timeout; true ends the wait,
 * even if the worker died.
 */
type AwaitJobInput<A extends z.ZodType> = {
  job: Job<z.ZodType, A>
  id: string
  describe(end: JobResult<z.output<A>>): Promise<object> | object
  more?(): Promise<object> | object
  isSettled?(): Promise<boolean>
}

/**
 * Waits past the CRM timeout for a worker's job, then returns the response that `describe` builds. Follows RFC 7240: with `Prefer:
 * respond-async` it returns 202 with the job at once. With `wait=N` it also returns 202 if the job has not ended within N seconds.
 */
export const awaitJob = async <A extends z.ZodType>(
  input: Input,
  {job, id, describe, isSettled, more = () => ({})}: AwaitJobInput<A>,
): Promise<object> => {
  const {waitSeconds, applied} = readPreference(input.request.headers.prefer)
  if (applied === null) {
    const {CRM_TIMEOUT_SECONDS: timeoutSeconds} = input.config
    const until = Date.now() + (timeoutSeconds + moreSeconds) * 1000
    await waitForEnd(input, {id, name: job.name, seconds: timeoutSeconds + callSeconds})
    await waitForEnd(input, {id, name: job.name, seconds: (until - Date.now()) / 1000, isSettled})
    return describe(await endOf(input, job, id))
  }
  await waitForEnd(input, {id, name: job.name, seconds: waitSeconds})
  const found = await readJob(input.queue, {name: job.name, id})
  if (waitSeconds === 0 || !found || !hasEnded(found)) {
    const {status, headers, body} = await answerJob({...input, request: noWait(input.request)}, id, job.name, await more())
    return reply({...(status && {status}), headers: {...headers, 'preference-applied': applied}, body})
  }
  return withPreference(await describe(await endOf(input, job, id)), applied)
}

const endOf = async <A extends z.ZodType>(
  {queue}: Input,
  {name, answer}: Job<z.ZodType, A>,
  id: string,
): Promise<JobResult<z.output<A>>> => {
  if ((await readJob(queue, {name, id}))?.state === 'queued') await queue.cancel(name, id)
  const ended = await readJob(queue, {name, id})
  if (ended?.state === 'done') return {answer: answer.parse(ended.result)}
  if (ended?.state === 'refused') throw new Refusal(ended.error!.code, ended.error!.error, extraOf(ended.error!))
  // A worker may start the job while it is being cancelled. `startedAt` is then set.
  return ended?.state === 'cancelled' && ended.startedAt === null ? 'unstarted' : 'unknown'
}

const extraOf = ({error: _, code: __, ...extra}: {error: string; code: string}): Record<string, unknown> => extra

const noWait = (request: Waiter): Waiter => ({...request, headers: {...request.headers, prefer: undefined}})

const withPreference = (json: object, applied: string): Reply => reply({headers: {'preference-applied': applied}, json})
