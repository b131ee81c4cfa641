import type {JobWithMetadata} from 'pg-boss'
import type {z} from 'zod'
import {Refusal} from '../shared/errors.ts'
import type {Log} from '../shared/log.ts'
import {type JobOutcome, jobBegan} from '../shared/metrics/jobs.ts'
import type {Job, Queue, Settled} from '../shared/queue.ts'
import {traced, traceId} from '../shared/tracing.ts'
import type {Tools} from './tools.ts'

export type Work = Tools & {log: Log; job: {id: string}; signal: AbortSignal}
type Handle<P extends z.ZodType, A extends z.ZodType> = (payload: z.output<P>, work: Work) => Promise<z.input<A>>

/**
 * A worker as `start.ts` knows it: what it listens to and how to begin. `side` work runs beside the jobs until stopped. Where `start` answers a
 * function, the process is stopped when that has let what is under way end.
 */
export type Worker = {name: string; start(queue: Queue, tools: Tools): Promise<void | (() => Promise<void>)>}

/** A handler returns its answer, throws a Refusal (told to whoever asked), or throws anything else (retried by the job's policy). */
export const worker = <P extends z.ZodType, A extends z.ZodType>(
  job: Job<P, A>,
  {concurrency}: {concurrency: number | ((tools: Tools) => number)},
  handle: Handle<P, A>,
): Worker => ({
  name: job.name,
  async start(queue, tools) {
    const count = typeof concurrency === 'function' ? concurrency(tools) : concurrency
    for (let n = 0; n < count; n++) await listen(queue, job, handle, tools)
  },
})

/**
 * One slot. The queue would sleep out its polling interval after each job; waking the slot by its own id makes it look again at once.
 */
const listen = async <P extends z.ZodType, A extends z.ZodType>(queue: Queue, job: Job<P, A>, handle: Handle<P, A>, tools: Tools) => {
  const id: string = await queue.work(
    job.name,
    {pollingIntervalSeconds: 1, notifyPollingIntervalSeconds: 5, includeMetadata: true},
    async ([taken]: JobWithMetadata<object>[]): Promise<Settled> => {
      const waitedMs = taken!.startedOn.getTime() - Math.max(taken!.createdOn.getTime(), taken!.startAfter.getTime())
      const attributes = {'lading.job': taken!.id, 'lading.waited_ms': Math.max(0, waitedMs)}
      const ended = jobBegan(job.name, waitedMs)
      let outcome: JobOutcome = 'failed'
      try {
        return await traced(`job ${job.name}`, {kind: 'consumer', parent: parentOf(taken!.data), attributes}, async mark => {
          const settled = await carry(taken!, job, handle, tools)
          outcome = 'refused' in settled ? 'refused' : 'done'
          if ('refused' in settled) mark.set({'lading.code': settled.refused.code})
          return settled
        })
      } finally {
        ended(outcome)
        setImmediate(() => queue.notifyWorker(id))
      }
    },
  )
}

const carry = async <P extends z.ZodType, A extends z.ZodType>(
  {id, data, signal: ended}: {id: string; data: object; signal: AbortSignal},
  job: Job<P, A>,
  handle: Handle<P, A>,
  tools: Tools,
): Promise<Settled> => {
  const trace = traceId()
  const log = tools.log.child({job: job.name, id, ...(trace && {trace}), ...idsOf(data)})
  const signal = AbortSignal.any([ended, tools.drain])
  try {
    return {answer: job.answer.parse(await handle(job.payload.parse(data), {...tools, log, job: {id}, signal}))}
  } catch (error) {
    if (error instanceof Refusal) return {refused: error.envelope}
    log.error({err: error}, 'job failed')
    throw error
  }
}

/** The step that made the job, where that was traced. */
const parentOf = (data: object): string | undefined =>
  'traceparent' in data && typeof data.traceparent === 'string' ? data.traceparent : undefined

/** A job carries ids and nothing else, so its payload may be logged. */
const idsOf = (data: object) => ({payload: data})
