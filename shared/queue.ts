import {randomUUID} from 'node:crypto'
import {type JobWithMetadata, PgBoss, type Queue as QueuePolicy, type SendOptions} from 'pg-boss'
import type {z} from 'zod'
import {statementsIn, type Tx} from '../sql/database.ts'
import {insertJob} from '../sql/jobs.ts'
import type {Code} from './errors.ts'
import type {Log} from './log.ts'
import {traced, traceparent} from './tracing.ts'

/** What the API and a worker agree on: name, payload, answer and policy. The handler is the worker's own. */
// biome-ignore lint/suspicious/noExplicitAny: a catalogue holds jobs of every payload
export type Job<P extends z.ZodType = any, A extends z.ZodType = any> = {
  name: string
  payload: P
  answer: A
  policy: Omit<QueuePolicy, 'name'>
  /** Two jobs of one key are one, as far as the policy says. */
  key?(payload: z.output<P>): string
}

export type Queue = PgBoss
/** How a job that ran to its end is kept: an answer, or a refusal its asker is told. Never rows. */
export type Settled = {answer: unknown} | {refused: {error: string; code: Code}}

export const job = <P extends z.ZodType, A extends z.ZodType>(declared: Job<P, A>) => declared

/** Of its connections, which are `pg`'s: a query that nobody answers is given up, so that a silent wire does not hold a slot for ever. */
const unanswered = {query_timeout: 35_000}

/** `upkeep` is for worker processes: they retire dead jobs and expired ones. The API only sends and reads. */
export const openQueue = async (
  url: string,
  jobs: Job[],
  {log, upkeep, connections = 4}: {log: Log; upkeep: boolean; connections?: number},
): Promise<Queue> => {
  const queue = new PgBoss({
    connectionString: url,
    max: connections,
    useListenNotify: upkeep,
    supervise: upkeep,
    schedule: false,
    connectionTimeoutMillis: 5_000,
    application_name: 'lading-queue',
    ...unanswered,
  })
  queue.on('error', error => log.warn({err: error}, 'queue'))
  await queue.start()
  for (const {name, policy} of jobs) await queue.createQueue(name, {notify: true, ...policy})
  return queue
}

/**
 * What a release does to the queue: raises its schema, makes the queues that are new and gives the others what their policy says now. `run`
 * answers the rows of a text, one at a time. How jobs of a key exclude each other (`policy`) stays as a queue was made with.
 */
export const raiseQueue = async (jobs: Job[], {log, run}: {log: Log; run(text: string, values?: unknown[]): Promise<Rows>}) => {
  const queue = new PgBoss({db: {executeSql: inTurn(run)}, supervise: false, schedule: false})
  queue.on('error', error => log.warn({err: error}, 'queue'))
  await queue.start()
  for (const {name, policy} of jobs) {
    await queue.createQueue(name, {notify: true, ...policy})
    const {policy: _, ...changing} = policy
    await queue.updateQueue(name, {notify: true, ...changing})
  }
  await queue.stop({graceful: false})
}

// biome-ignore lint/suspicious/noExplicitAny: rows of whatever it asks
type Rows = {rows: any[]}

const inTurn = <A extends unknown[], T>(run: (...given: A) => Promise<T>) => {
  let last: Promise<unknown> = Promise.resolve()
  return (...given: A): Promise<T> => {
    const next = last.then(() => run(...given))
    last = next.catch(() => {})
    return next
  }
}

/**
 * Inside `tx` the job exists only if what it is about does. Answers the job's id: a new one, or that of the job already
 * there under the same key; null when such a job ended meanwhile.
 */
export const enqueue = <P extends z.ZodType>(queue: Queue, job: Job<P>, payload: z.input<P>, how: Sending): Promise<string | null> =>
  traced(`enqueue ${job.name}`, {kind: 'producer'}, () => put(queue, job, payload, how))

type Sending = {tx: Tx; track?: boolean} & Omit<SendOptions, 'db'>

const put = async <P extends z.ZodType>(queue: Queue, job: Job<P>, payload: z.input<P>, {tx, track = true, ...options}: Sending) => {
  const cause = traceparent()
  // Beside the ids, where who traces looks for it and every schema passes over it.
  const data = {...(job.payload.parse(payload) as object & {org: string}), ...(cause && {traceparent: cause})}
  const key = job.key?.(data as z.output<P>)
  const id = randomUUID()
  const sent = await queue.send(job.name, data, {id, ...(key !== undefined && {singletonKey: key}), db: statementsIn(tx), ...options})
  if (sent === null) return findLive(queue, job, key!)
  if (track) await insertJob(tx, {id, org: data.org, queue: job.name})
  return id
}

const findLive = async (queue: Queue, {name}: Job, key: string) => {
  const same = await queue.findJobs(name, {key})
  return same.find(({state}) => state === 'created' || state === 'retry' || state === 'active')?.id ?? null
}

export type JobState = 'queued' | 'running' | 'done' | 'refused' | 'failed' | 'cancelled'

/** A job as its asker reads it; undefined once the queue has forgotten it. */
export const readJob = async (queue: Queue, {name, id}: {name: string; id: string}) => {
  const [found] = await queue.findJobs<object>(name, {id})
  return found && describe(found)
}

/** The newest job of this key; undefined where there is none, or the queue has forgotten it. */
export const readNewestJob = async (queue: Queue, {name, key}: {name: string; key: string}) => {
  const found = await queue.findJobs<object>(name, {key})
  const [newest] = found.sort((one, other) => other.createdOn.getTime() - one.createdOn.getTime())
  return newest && describe(newest)
}

const describe = ({id, name, state, output, createdOn, startedOn, completedOn}: JobWithMetadata<object>) => {
  const settled = output as Settled | null
  const refused = settled && 'refused' in settled ? settled.refused : null
  return {
    id,
    name,
    state: state === 'completed' ? (refused ? 'refused' : 'done') : STATES[state],
    result: settled && 'answer' in settled ? settled.answer : null,
    error: refused ?? (state === 'failed' ? {error: 'The job failed; the log of the worker says why', code: 'INTERNAL'} : null),
    createdAt: createdOn.toISOString(),
    startedAt: startedOn?.toISOString() ?? null,
    endedAt: completedOn?.toISOString() ?? null,
  }
}

const STATES: Record<string, JobState> = {created: 'queued', retry: 'queued', active: 'running', cancelled: 'cancelled', failed: 'failed'}
