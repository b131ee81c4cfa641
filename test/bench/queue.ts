import {type ChildProcess, fork} from 'node:child_process'
import {once} from 'node:events'
import {setTimeout as sleep} from 'node:timers/promises'
import {fileURLToPath} from 'node:url'
import pg from 'pg'
import {newId} from '../../shared/ids.ts'
import {enqueue, openQueue, type Queue} from '../../shared/queue.ts'
import {openLog} from '../../shared/telemetry/log.ts'
import {openDatabase, type Pool} from '../../sql/database.ts'
import {keepOrg} from '../../sql/orgs.ts'
import {createDatabase} from '../support/database.ts'
import {medianOf, percentileOf} from './median.ts'
import {bareJob, channel, nowMs, ourJob, type QueueJobsInput, type QueueJobsOptions} from './queue-jobs.ts'

const rounds = 5
const samples = 150
const backlog = 1_500
/**
 * Pause in ms before the next job. After a job, a slot completes the job and looks for another. Then the slot waits, as it usually does between
 * jobs.
 */
const restMs = 5
const warmUps = 50

/**
 * Measures the time from the commit that enqueues a job to the first line of its handler in a waiting worker process. This time is divided by
 * the time from the commit of a bare NOTIFY to a bare listener in that process. The two alternate; a round gives the ratio of their medians and
 * of their 99th percentiles.
 * Also measures jobs per second of a backlog of 1,500 through our queue and `workers/worker.ts` ÷ through bare pg-boss. Both have the same
 * policy, slots, batch size and polling, and a handler that does nothing. The results are the medians of five rounds.
 */
export const measureQueue = async () => {
  const database = await createDatabase('bench_queue')
  const db = await openDatabase(database.url)
  const queue = await openQueue(database.url, [ourJob, bareJob], {log: openLog('bench', 'warn'), upkeep: false})
  const notifier = new pg.Client(database.url)
  const child = fork(fileURLToPath(new URL('queue-worker.ts', import.meta.url)), {
    env: {...process.env, DATABASE_URL: database.url},
    execArgv: process.execArgv,
  })
  try {
    await Promise.all([once(child, 'message'), notifier.connect()])
    const org = (await db.transaction(tx => keepOrg(tx, {id: newId('org'), name: 'Bench', dc: 'bench', crmOrgId: '1'}))).id
    return await measureRounds({db, queue, notifier, child, org})
  } finally {
    child.disconnect()
    await once(child, 'exit')
    await notifier.end()
    await queue.stop({graceful: false})
    await db.end()
    await database.drop()
  }
}

type Bench = {db: Pool; queue: Queue; notifier: pg.Client; child: ChildProcess; org: string}

const measureRounds = async (bench: Bench) => {
  const measured = {p50: [] as number[], p99: [] as number[], ms50: [] as number[], ms99: [] as number[]}
  const speeds = {ratio: [] as number[], ours: [] as number[]}
  for (let at = 0; at < warmUps; at++) await timePair(bench)
  for (let round = 0; round < rounds; round++) {
    const pairs: Pair[] = []
    for (let at = 0; at < samples; at++) pairs.push(await timePair(bench))
    const [ours, bare] = [pairs.map(pair => pair.ours), pairs.map(pair => pair.bare)]
    measured.p50.push(medianOf(ours) / medianOf(bare))
    measured.p99.push(percentileOf(ours, 99) / percentileOf(bare, 99))
    measured.ms50.push(medianOf(ours))
    measured.ms99.push(percentileOf(ours, 99))
    const [bareSpeed, ourSpeed] = [await drain(bench, 'bare'), await drain(bench, 'ours')]
    speeds.ratio.push(ourSpeed / bareSpeed)
    speeds.ours.push(ourSpeed)
  }
  return {
    enqueueToStartP50OverNotify: medianOf(measured.p50),
    enqueueToStartP99OverNotify: medianOf(measured.p99),
    enqueueToStartP50Milliseconds: medianOf(measured.ms50),
    enqueueToStartP99Milliseconds: medianOf(measured.ms99),
    jobsOverBarePgBoss: medianOf(speeds.ratio),
    jobsPerSecond: medianOf(speeds.ours),
  }
}

type Pair = {ours: number; bare: number}

const timePair = async ({db, queue, notifier, child, org}: Bench): Promise<Pair> => {
  const bare = await timeOne(child, 'listener', async () => {
    await notifier.query('begin')
    await notifier.query(`select pg_notify('${channel}', '${ourJob.name}')`)
    const committedFrom = nowMs()
    await notifier.query('commit')
    return committedFrom
  })
  const ours = await timeOne(child, 'ours', () =>
    db.transaction(async tx => {
      await enqueue(queue, ourJob, {org, connector: org}, {tx})
      return nowMs()
    }),
  )
  return {ours, bare}
}

const timeOne = async (child: ChildProcess, of: QueueJobsInput['of'], commit: () => Promise<number>) => {
  await sleep(restMs)
  const begun = await ask(child, {of, count: 1})
  const committedFrom = await commit()
  return (await begun()).first - committedFrom
}

/** Returns the jobs per second of a backlog that is enqueued at once. */
const drain = async ({queue, child, org}: Bench, of: 'ours' | 'bare') => {
  const {name} = of === 'ours' ? ourJob : bareJob
  const begun = await ask(child, {of, count: backlog})
  await queue.insert(
    name,
    Array.from({length: backlog}, () => ({data: {org, connector: org}})),
  )
  const {first, last} = await begun()
  return ((backlog - 1) / (last - first)) * 1000
}

/**
 * Sends the child a message with what to count, and waits until the child has confirmed it. The returned function waits until the jobs have
 * begun.
 */
const ask = async (child: ChildProcess, asked: QueueJobsInput) => {
  const [heard] = [once(child, 'message'), child.send(asked)]
  await heard
  const begun = once(child, 'message', {signal: AbortSignal.timeout(60_000)}) as Promise<[QueueJobsOptions]>
  return async () => (await begun)[0]
}
