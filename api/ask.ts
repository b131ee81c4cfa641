import type {z} from 'zod'
import {Refusal} from '../shared/errors.ts'
import {type Job, readJob} from '../shared/queue.ts'
import type {Member} from './access.ts'
import {answerJob, hasEnded, readPreference, type Waiter, waitForEnd} from './prefer.ts'
import {type Reply, reply} from './reply.ts'
import type {Tools} from './route.ts'

/**
 * What came of a job. `unstarted`: no worker took it in time, and none will any more. `unknown`: one took it and nothing more was
 * heard, so what it was to do may have been done.
 */
export type End<A> = {answer: A} | 'unstarted' | 'unknown'
type Input = Pick<Tools, 'db' | 'queue' | 'config'> & {caller: Member; request: Waiter}

/** Beyond the CRM's own time-out: until a worker is free, the connection's access is renewed and the answer kept. */
const moreSeconds = 30

/** After its intent and beyond the CRM's time-out, a batch is overdue. */
const callSeconds = 10

/** `more` stands beside the job in a 202. `isSettled`: asked once no call of the job can be under way any more, in case its worker died. */
type Question<A extends z.ZodType> = {
  job: Job<z.ZodType, A>
  id: string
  describe(end: End<z.output<A>>): Promise<object> | object
  more?(): Promise<object> | object
  isSettled?(): Promise<boolean>
}

/**
 * The answer of a route that answers what a worker did: waited for past the CRM's time-outs, then described by `describe`. As
 * RFC 7240 has it, `Prefer: respond-async` is answered 202 with the job, and so is `wait=N` where the job has not ended by then.
 */
export const ask = async <A extends z.ZodType>(
  input: Input,
  {job, id, describe, isSettled, more = () => ({})}: Question<A>,
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
  if (waitSeconds === 0 || !found || !hasEnded(found))
    return answerJob({...input, request: noWait(input.request)}, id, job.name, await more())
  return withPreference(await describe(await endOf(input, job, id)), applied)
}

const endOf = async <A extends z.ZodType>({queue}: Input, {name, answer}: Job<z.ZodType, A>, id: string): Promise<End<z.output<A>>> => {
  if ((await readJob(queue, {name, id}))?.state === 'queued') await queue.cancel(name, id)
  const ended = await readJob(queue, {name, id})
  if (ended?.state === 'done') return {answer: answer.parse(ended.result)}
  if (ended?.state === 'refused') throw new Refusal(ended.error!.code, ended.error!.error, extraOf(ended.error!))
  // Cancelled in the same moment as a worker took it: then it was started.
  return ended?.state === 'cancelled' && ended.startedAt === null ? 'unstarted' : 'unknown'
}

const extraOf = ({error: _, code: __, ...extra}: {error: string; code: string}): Record<string, unknown> => extra

const noWait = (request: Waiter): Waiter => ({...request, headers: {...request.headers, prefer: 'respond-async'}})

const withPreference = (json: object, applied: string): Reply => reply({headers: {'preference-applied': applied}, json})
