import type {JobWithMetadata} from 'pg-boss'
import type {z} from 'zod'
import {Refusal} from '../shared/errors.ts'
import type {Job, Queue, SettledJob} from '../shared/queue.ts'
import type {Log} from '../shared/telemetry/log.ts'
import {type JobOutcome, jobBegan} from '../shared/telemetry/metrics/jobs.ts'
import {traced, traceId} from '../shared/telemetry/tracing.ts'
import type {WorkerDeps} from './deps.ts'

export type Work = WorkerDeps & {log: Log; job: {id: string}; signal: AbortSignal}
type JobHandler<P extends z.ZodType, A extends z.ZodType> = (payload: z.output<P>, work: Work) => Promise<z.input<A>>

/**
 * A worker for `start.ts`: the name of its job or task, and how to start it. If `start` returns a function, the process calls it on
 * shutdown and waits until work in progress has ended.
 */
export type Worker = {name: string; start(queue: Queue, deps: WorkerDeps): Promise<void | (() => Promise<void>)>}

type Concurrency = {concurrency: number | ((deps: WorkerDeps) => number); perOrg?: number}

/**
 * Makes a worker from a job's handler. The handler returns its answer, throws a Refusal (returned to the caller of the job), or throws
 * another error (retried by the job's policy). A process executes `concurrency` jobs at once. At most `perOrg` of them, if given, are of one org, so
 * that its slow servers cannot stop the jobs of other orgs.
 */
export const worker = <P extends z.ZodType, A extends z.ZodType>(
  job: Job<P, A>,
  {concurrency, perOrg}: Concurrency,
  handle: JobHandler<P, A>,
): Worker => ({
  name: job.name,
  async start(queue, deps) {
    const count = typeof concurrency === 'function' ? concurrency(deps) : concurrency
    if (perOrg === undefined) for (let n = 0; n < count; n++) await listen(queue, job, handle, deps)
    else await listen(queue, job, handle, deps, {localConcurrency: count, localGroupConcurrency: perOrg})
  },
})

type ConcurrencyLimits = {localConcurrency: number; localGroupConcurrency: number}

/** Executes jobs one after another, or several at once with a limit for each org. Notifies pg-boss after each job, so that it does not wait to poll. */
const listen = async <P extends z.ZodType, A extends z.ZodType>(
  queue: Queue,
  job: Job<P, A>,
  handle: JobHandler<P, A>,
  deps: WorkerDeps,
  limits?: ConcurrencyLimits,
) => {
  const first: string = await queue.work(
    job.name,
    {pollingIntervalSeconds: 1, notifyPollingIntervalSeconds: 5, includeMetadata: true, ...limits},
    async ([taken]: JobWithMetadata<object>[]): Promise<SettledJob> => {
      const waitedMs = taken!.startedOn.getTime() - Math.max(taken!.createdOn.getTime(), taken!.startAfter.getTime())
      const attributes = {'lading.job': taken!.id, 'lading.waited_ms': Math.max(0, waitedMs)}
      const ended = jobBegan(job.name, waitedMs)
      let outcome: JobOutcome = 'failed'
      try {
        return await traced(`job ${job.name}`, {kind: 'consumer', parent: parentOf(taken!.data), attributes}, async mark => {
          const settled = await runJob(taken!, job, handle, deps)
          outcome = 'refused' in settled ? 'refused' : 'done'
          if ('refused' in settled) mark.set({'lading.code': settled.refused.code})
          return settled
        })
      } finally {
        ended(outcome)
        setImmediate(() => (limits ? notifyBusyWorkers(queue, first) : queue.notifyWorker(first)))
      }
    },
  )
}

/**
 * Notifies all busy workers of pg-boss, because pg-boss does not say which one just ended its job. The others would fetch after their current job
 * anyway.
 */
const notifyBusyWorkers = (queue: Queue, first: string) => {
  for (const {id, workId, count} of queue.getWipData()) if (workId === first && count > 0) queue.notifyWorker(id)
}

const runJob = async <P extends z.ZodType, A extends z.ZodType>(
  {id, data, signal: ended}: {id: string; data: object; signal: AbortSignal},
  job: Job<P, A>,
  handle: JobHandler<P, A>,
  deps: WorkerDeps,
): Promise<SettledJob> => {
  const trace = traceId()
  const log = deps.log.child({job: job.name, id, ...(trace && {trace}), ...idsOf(data)})
  const signal = AbortSignal.any([ended, deps.drain])
  try {
    return {answer: job.answer.parse(await handle(job.payload.parse(data), {...deps, log, job: {id}, signal}))}
  } catch (error) {
    if (error instanceof Refusal) return {refused: error.envelope}
    log.error({err: error}, 'job failed')
    throw error
  }
}

/** Returns the trace context of the request or step that created the job, if it was traced. */
const parentOf = (data: object): string | undefined =>
  'traceparent' in data && typeof data.traceparent === 'string' ? data.traceparent : undefined

/** Returns the job's payload for the log. A payload contains only ids and flags, so it may be logged. */
const idsOf = (data: object) => ({payload: data})
