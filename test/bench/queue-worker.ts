import pg from 'pg'
import {PgBoss} from 'pg-boss'
import {databaseUrlOf, readConfig} from '../../shared/config.ts'
import {openLog} from '../../shared/log.ts'
import {openQueue} from '../../shared/queue.ts'
import type {Tools} from '../../workers/tools.ts'
import {worker} from '../../workers/worker.ts'
import {type Asked, bareJob, channel, nowMs, ourJob, slots} from './queue-jobs.ts'

/**
 * A worker process three times over: a job of ours by the way every worker of ours takes it, the same by bare pg-boss with the same
 * settings, and a bare listener. Told of how many it is to hear, it says when the first and the last of them began.
 */
let asked: Asked | null = null
let begun: number[] = []

process.on('message', (to: Asked) => {
  ;[asked, begun] = [to, []]
  process.send!('asked')
})

const begins = (of: Asked['of']) => {
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
await ours.start(queue, {log, drain: new AbortController().signal} as Tools)

// As `openQueue` and `worker` set theirs. A slot that is not woken by its own id would sleep out its polling interval after each job.
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
