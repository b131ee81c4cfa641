import type {z} from 'zod'
import {Refusal} from '../shared/errors.ts'
import type {Log} from '../shared/log.ts'
import type {Job, Queue, Settled} from '../shared/queue.ts'
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
  const id: string = await queue.work<object>(
    job.name,
    {pollingIntervalSeconds: 1, notifyPollingIntervalSeconds: 5},
    async ([taken]): Promise<Settled> => {
      const log = tools.log.child({job: job.name, id: taken!.id, ...idsOf(taken!.data)})
      const signal = AbortSignal.any([taken!.signal, tools.drain])
      try {
        return {answer: job.answer.parse(await handle(job.payload.parse(taken!.data), {...tools, log, job: {id: taken!.id}, signal}))}
      } catch (error) {
        if (error instanceof Refusal) return {refused: error.envelope}
        log.error({err: error}, 'job failed')
        throw error
      } finally {
        setImmediate(() => queue.notifyWorker(id))
      }
    },
  )
}

/** A job carries ids and nothing else, so its payload may be logged. */
const idsOf = (data: object) => ({payload: data})
