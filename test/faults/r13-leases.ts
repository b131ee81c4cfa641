import type {ChildProcess} from 'node:child_process'
import {createInterface} from 'node:readline'
import {setTimeout as sleep} from 'node:timers/promises'
import {z} from 'zod'
import {sql} from '../../sql/database.ts'
import {until} from '../support/until.ts'
import {endWorker, startWorker, wakeWorker} from '../support/worker-spawn.ts'
import {carryCase, environment, type Ground, openGround, prepareCase} from './carried.ts'
import {writeCase} from './cases.ts'
import type {Scenario, Stage} from './scenario.ts'
import {timeTakeovers} from './takeovers.ts'
import {isAsleep} from './violence.ts'

const rows = 700
/** How long an owner sleeps, in leases. */
const leasesAsleep = 3

/**
 * `lay`: the kind of import in `cases.ts`. `points`: where its owners fall asleep, one after another; then one more worker executes the run.
 * `loses`: the CRM drops the answer to the first create.
 */
const plays: {lay: number; points: string[]; loses?: boolean}[] = [
  {lay: 0, points: ['after_intent:2', 'after_send:2', 'before_settle:1', 'in_close:1']},
  {lay: 1, points: ['after_search:1', 'after_search:1'], loses: true},
]

/** Owners of a run sleep past their lease and wake while another worker executes the run. No late statement of theirs may take effect. */
export const leases: Scenario = {
  row: 'R13',
  fault: 'owners of a run sleep for three leases at named points, one after the other, and wake while another executes it; owners die',
  goal: 'their late statements are refused, nothing is unreported, and a run is taken over within two leases (p99)',
  async play(stage) {
    const here = await stage.open({workers: ['discovery'], environment})
    const ground = await openGround(here)
    for (const play of plays) await playSleepers(stage, ground, play)
    await timeTakeovers(stage, ground)
  },
}

const playSleepers = async (stage: Stage, ground: Ground, {lay, points, loses}: (typeof plays)[number]) => {
  const {crm} = ground.here
  const laid = writeCase(lay, stage.dice, rows)
  const prepared = await prepareCase(ground, {...laid, start: {}})
  crm.setSwitches({latencyMs: 200})
  const path = `/crm/v8/${laid.parts[0]!.module}`
  if (loses) crm.faults.add({match: {method: 'POST', path}, times: 1, action: 'dropAfter'})
  const crew = openCrew(stage, ground)
  try {
    const carried = await carryCase(ground, prepared, ({run}) => crew.sleepAndWake(run, points))
    stage.judged(await carried.judge())
    const toldLost = crew.toldLost()
    stage.expect(
      toldLost === points.length,
      `${toldLost} of ${points.length} owners that woke were told that their lease is lost (${points})`,
    )
  } finally {
    await crew.end()
    crm.faults.clear()
    crm.setSwitches({latencyMs: 0})
  }
}

/** Starts and ends the workers of one run. */
const openCrew = (stage: Stage, {here}: Ground) => {
  const workers: ChildProcess[] = []
  const told = new Set<ChildProcess>()
  const start = (point?: string) => {
    const worker = startWorker(here.config, {LOG_LEVEL: 'warn', CRM_SLOTS: '1', ...(point && {FAULT_POINT: point})}, ['imports'])
    workers.push(worker)
    createInterface(worker.stdout!).on('line', line => {
      stage.logged(line)
      if (line.includes('"lease lost"')) told.add(worker)
    })
    return worker
  }
  const sleepAndWake = async (run: string, points: string[]) => {
    const asleep: {worker: ChildProcess; since: number}[] = []
    for (const point of points) {
      const worker = start(`${point}:SIGSTOP`)
      await until(() => isAsleep(worker), Boolean)
      asleep.push({worker, since: performance.now()})
    }
    start()
    await until(
      () => fenceOf(here, run),
      fence => fence > points.length,
    )
    for (const {worker, since} of asleep) {
      await sleep(Math.max(0, since + leasesAsleep * here.config.LEASE_SECONDS * 1_000 - performance.now()))
      await wakeWorker(worker)
      stage.did('owners woken')
    }
    await until(
      () => told.size,
      count => count >= points.length,
    ).catch(() => {})
  }
  const end = async () => void (await Promise.all(workers.map(endWorker)))
  return {sleepAndWake, toldLost: () => told.size, end}
}

const fenceOf = ({db}: Ground['here'], run: string) =>
  db.oneFirst(sql.type(z.object({fence: z.number()}))`select fence from run_heads join runs using (run_no) where id = ${run}`)
