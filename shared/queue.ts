import {randomUUID} from 'node:crypto'
import {type JobWithMetadata, PgBoss, type Queue as QueuePolicy, type SendOptions} from 'pg-boss'
import type {z} from 'zod'
import {statementsIn, type Tx} from '../sql/database.ts'
import {insertJob} from '../sql/jobs.ts'
import {isPooled} from '../sql/pooler.ts'
import {openLimiter} from './concurrency/limiter.ts'
import type {Code} from './errors.ts'
import type {Log} from './telemetry/log.ts'
import {traced, traceparent} from './telemetry/tracing.ts'

/** The contract of a job between the API and a worker: name, payload, answer and policy. The handler belongs to the worker. */
// biome-ignore lint/suspicious/noExplicitAny: a catalogue holds jobs of every payload
export type Job<P extends z.ZodType = any, A extends z.ZodType = any> = {
  name: string
  payload: P
  answer: A
  policy: Omit<QueuePolicy, 'name'>
  /** Returns the key of a job. The policy defines how jobs with the same key exclude each other. */
  key?(payload: z.output<P>): string
}

export type Queue = PgBoss
/** The stored result of a completed job: an answer, or a refusal for its caller. It never contains rows. */
export type SettledJob = {answer: unknown} | {refused: {error: string; code: Code}}

export const job = <P extends z.ZodType, A extends z.ZodType>(declared: Job<P, A>) => declared

/** The time-out of the queue's `pg` connections. It ends queries without an answer, so that a dead connection does not hold a slot forever. */
const unanswered = {query_timeout: 35_000}

/**
 * Opens the queue. `upkeep`: for worker processes, which also remove dead and expired jobs. The API only sends and reads jobs. Behind a pooler,
 * workers get no notifications and poll for jobs.
 */
export const openQueue = async (
  url: string,
  jobs: Job[],
  {log, upkeep, connections = 4}: {log: Log; upkeep: boolean; connections?: number},
): Promise<Queue> => {
  const queue = new PgBoss({
    connectionString: url,
    max: connections,
    useListenNotify: upkeep && !isPooled(url),
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
 * Migrates the queue's schema, creates new queues and updates the settings of existing queues. `run` is called for one statement at a time. The
 * `policy` of an existing queue cannot change; it decides how jobs with one key exclude each other.
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

// biome-ignore lint/suspicious/noExplicitAny: the columns depend on the statement
type Rows = {rows: any[]}

const inTurn = <A extends unknown[], T>(run: (...given: A) => Promise<T>) => {
  const limit = openLimiter(1)
  return (...given: A): Promise<T> => limit(() => run(...given))
}

/**
 * Enqueues a job in `tx`, so that the job exists only if the transaction commits. Returns the id of the new job. If the policy allows no second job
 * with this key, returns the id of the existing job, or null if that job ended meanwhile.
 */
export const enqueue = <P extends z.ZodType>(queue: Queue, job: Job<P>, payload: z.input<P>, how: SendOptionsOf): Promise<string | null> =>
  traced(`enqueue ${job.name}`, {kind: 'producer'}, () => put(queue, job, payload, how))

type SendOptionsOf = {tx: Tx; track?: boolean} & Omit<SendOptions, 'db'>

const put = async <P extends z.ZodType>(queue: Queue, job: Job<P>, payload: z.input<P>, {tx, track = true, ...options}: SendOptionsOf) => {
  const cause = traceparent()
  // The trace parent is stored in the job's data for tracing. The payload schemas ignore the trace parent.
  const data = {...(job.payload.parse(payload) as object & {org: string}), ...(cause && {traceparent: cause})}
  // A worker limits how many jobs of one group it executes at once. A payment event has no org.
  const group = data.org ? {group: {id: data.org}} : {}
  const key = job.key?.(data as z.output<P>)
  const id = randomUUID()
  const keyed = key === undefined ? {} : {singletonKey: key}
  const sent = await queue.send(job.name, data, {id, ...keyed, ...group, db: statementsIn(tx), ...options})
  if (sent === null) return findLive(queue, job, key!)
  if (track) await insertJob(tx, {id, org: data.org, queue: job.name})
  return id
}

const findLive = async (queue: Queue, {name}: Job, key: string) => {
  const same = await queue.findJobs(name, {key})
  return same.find(({state}) => state === 'created' || state === 'retry' || state === 'active')?.id ?? null
}

export type JobState = 'queued' | 'running' | 'done' | 'refused' | 'failed' | 'cancelled'

/** Reads a job as its caller sees it; undefined once the queue has deleted the job. */
export const readJob = async (queue: Queue, {name, id}: {name: string; id: string}) => {
  const [found] = await queue.findJobs<object>(name, {id})
  return found && describe(found)
}

/** Reads the payload of a job; undefined once the queue has deleted the job. */
export const readPayload = async <P extends z.ZodType>(queue: Queue, {name, payload}: Job<P>, id: string) => {
  const [found] = await queue.findJobs<object>(name, {id})
  return found && payload.parse(found.data)
}

/** Reads the newest job of this key; undefined if there is none, or if the queue has deleted it. */
export const readNewestJob = async (queue: Queue, {name, key}: {name: string; key: string}) => {
  const found = await queue.findJobs<object>(name, {key})
  const [newest] = found.sort((one, other) => other.createdOn.getTime() - one.createdOn.getTime())
  return newest && describe(newest)
}

const describe = ({id, name, state, output, createdOn, startedOn, completedOn}: JobWithMetadata<object>) => {
  const settled = output as SettledJob | null
  const refused = settled && 'refused' in settled ? settled.refused : null
  return {
    id,
    name,
    state: state === 'completed' ? (refused ? 'refused' : 'done') : STATES[state],
    result: settled && 'answer' in settled ? settled.answer : null,
    error: refused ?? (state === 'failed' ? {error: 'The job failed. The worker log contains the reason', code: 'INTERNAL'} : null),
    createdAt: createdOn.toISOString(),
    startedAt: startedOn?.toISOString() ?? null,
    endedAt: completedOn?.toISOString() ?? null,
  }
}

const STATES: Record<string, JobState> = {created: 'queued', retry: 'queued', active: 'running', cancelled: 'cancelled', failed: 'failed'}
