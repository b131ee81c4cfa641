import type {ChildProcess} from 'node:child_process'
import {createInterface} from 'node:readline'
import pg from 'pg'
import {runImport} from '../../shared/jobs.ts'
import type {Deployment} from '../support/deployment.ts'
import {readSamples, sumOf} from '../support/metrics.ts'
import {until} from '../support/until.ts'
import {endWorker, startWorker} from '../support/worker-spawn.ts'
import {type Carried, carryCase, environment, openGround, prepareCase} from './carried.ts'
import {writeCase} from './cases.ts'
import type {Scenario, Stage} from './scenario.ts'

const rows = 400
const [again, late] = [12, 6]
/** Age in seconds of a waiting job that raises an alert in `alerts.yml`. */
const alarmSeconds = 60

/**
 * Delivers the job of a run many times. Workers are suspended until the waiting jobs look ten minutes old. Then twelve copies are delivered
 * while the first job is locked. Six more copies, due an hour later, are delivered after the run has ended.
 */
export const deliveries: Scenario = {
  row: 'R10',
  fault: 'a job is delivered many times, out of order, an hour late, and after all workers were stopped for ten minutes',
  goal: 'its effects occur once, and the age of waiting jobs is reported',
  async play(stage) {
    const ground = await openGround(await stage.open({workers: ['discovery'], environment}))
    const workers = [startOne(stage, ground.here), startOne(stage, ground.here)]
    for (const kind of [0, 4]) {
      const prepared = await prepareCase(ground, writeCase(kind, stage.dice, rows))
      for (const worker of workers) worker.kill('SIGSTOP')
      const carried = await carryCase(ground, prepared, run => deliver(stage, ground.here, {run, org: ground.org.org, workers}))
      await expectTaken(stage, ground.here, carried.run.id)
      stage.judged(await carried.judge())
    }
  },
}

const startOne = (stage: Stage, {config}: Deployment): ChildProcess => {
  const worker = startWorker(config, {LOG_LEVEL: 'error'}, ['imports'])
  createInterface(worker.stdout!).on('line', stage.logged)
  stage.begun(() => endWorker(worker))
  return worker
}

type Delivered = {run: Carried; org: string; workers: ChildProcess[]}

const deliver = async (stage: Stage, here: Deployment, {run: {run}, org, workers}: Delivered) => {
  const {hot, queue} = here
  const ofRun = `name = '${runImport.name}' and data ->> 'run' = '${run}'`
  for (let n = 0; n < again + late; n++) {
    const startAfter = n < again ? 0 : 3_600
    await queue.send(runImport.name, {org, run}, {singletonKey: `${run} ${n}`, startAfter})
  }
  await hot.query(
    `update pgboss.job set created_on = created_on - interval '10 minutes', start_after = start_after - interval '10 minutes' where ${ofRun} and start_after <= now()`,
  )
  const age = async () => sumOf(readSamples((await here.as(here.adminToken)('GET', '/metrics')).text), 'lading_queue_oldest_seconds', of)
  stage.figure('oldest waiting job, in seconds, as the metrics tell', await until(age, seconds => seconds > alarmSeconds), {
    least: alarmSeconds,
  })
  stage.did('minutes stalled', 10)
  const holder = new pg.Client(here.config.DATABASE_URL)
  await holder.connect()
  try {
    await holder.query('begin')
    await holder.query(`select from pgboss.job where ${ofRun} and singleton_key = $1 for update`, [run])
    for (const worker of workers) worker.kill('SIGCONT')
    await until(
      async () => (await hot.query('select state from runs where id = $1', [run])).rows[0].state,
      state => state === 'ended',
      60,
    )
    stage.did('deliveries beside the first', again)
  } finally {
    await holder.end()
  }
  stage.did('deliveries held back till the end')
  await hot.query(`update pgboss.job set start_after = now() where ${ofRun} and state = 'created'`)
  stage.did('deliveries an hour late', late)
}

const of = {queue: runImport.name, state: 'waiting'}

/** Checks that all copies of the job were delivered and none failed. */
const expectTaken = async (stage: Stage, {hot}: Deployment, run: string) => {
  const read = async () =>
    (await hot.query(`select state from pgboss.job where name = $1 and data ->> 'run' = $2`, [runImport.name, run])).rows.map(
      ({state}) => state,
    )
  const states = await until(read, all => all.every(state => state === 'completed' || state === 'failed'))
  stage.figure('jobs of a run delivered', states.length, {least: again + late + 1})
  stage.figure('of them failed', states.filter(state => state === 'failed').length, {most: 0})
}
