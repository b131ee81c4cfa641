import pg from 'pg'
import {PgBoss} from 'pg-boss'
import {databaseUrlOf, readConfig} from '../../shared/config.ts'
import {openQueue} from '../../shared/queue.ts'
import {openLog} from '../../shared/telemetry/log.ts'
import type {WorkerDeps} from '../../workers/deps.ts'
import {worker} from '../../workers/worker.ts'
import {bareJob, channel, nowMs, ourJob, type QueueJobsInput, slots} from './queue-jobs.ts'

/** The last message of the bench, or null. */
let asked: QueueJobsInput | null = null
let begun: number[] = []

// This process has three listeners: our worker, bare pg-boss with the same settings, and a bare NOTIFY listener. After a message with a count,
// it reports when the first and the last of these jobs began.
process.on('message', (to: QueueJobsInput) => {
  ;[asked, begun] = [to, []]
  process.send!('asked')
})

const begins = (of: QueueJobsInput['of']) => {
  if (asked?.of !== of) return
  begun.push(nowMs())
  if (begun.length === asked.count) process.send!({first: begun[0]!, last: begun.at(-1)!})
}

const url = databaseUrlOf(readConfig())
const log = openLog('bench', 'warn')

const queue = await openQueue(url, [ourJob], {log, upkeep: true})
const ours = worker(ourJob, {concurrency: slots}, async () => {
  begins('ours')
  return {}
})
await ours.start(queue, {log, drain: new AbortController().signal} as WorkerDeps)

// The settings are those of `openQueue` and `worker`. A slot without a notification would wait for its polling interval after each job.
const bare = new PgBoss({connectionString: url, max: 4, useListenNotify: true, supervise: true, schedule: false})
bare.on('error', err => log.warn({err}, 'bare queue'))
await bare.start()
await bare.createQueue(bareJob.name, {notify: true, ...bareJob.policy})
for (let slot = 0; slot < slots; slot++) {
  const id: string = await bare.work(bareJob.name, {pollingIntervalSeconds: 1, notifyPollingIntervalSeconds: 5}, async () => {
    begins('bare')
    setImmediate(() => bare.notifyWorker(id))
    return {}
  })
}

const listener = new pg.Client(url)
await listener.connect()
listener.on('notification', () => begins('listener'))
await listener.query(`listen ${channel}`)

process.once('disconnect', () => process.exit(0))
process.send!('ready')
