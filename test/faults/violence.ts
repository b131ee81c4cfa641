import {type ChildProcess, execFile} from 'node:child_process'
import {createInterface} from 'node:readline'
import {setTimeout as sleep} from 'node:timers/promises'
import {promisify} from 'node:util'
import {z} from 'zod'
import type {FaultPoint} from '../../shared/fault-point.ts'
import {sql} from '../../sql/database.ts'
import type {Deployment} from '../support/deployment.ts'
import {openProxy} from '../support/tcp-proxy.ts'
import {endWorker, processesOf, startWorker, wakeWorker} from '../support/worker-spawn.ts'
import type {Random} from './random.ts'

/** How many faults the processes of a seed met. */
export type WakeInTimeInput = {kills: number; sleeps: number; cuts: number}

export type Violence = {
  /** Causes faults until `signal` aborts or all faults are done. The remaining workers then run undisturbed. */
  rage(signal: AbortSignal): Promise<void>
  done: WakeInTimeInput
  /** Returns how often workers logged a difference in the row count. Each such difference is an error of the service. */
  meterAlarms(): number
  end(): Promise<void>
}

const deaths: FaultPoint[] = ['after_intent', 'after_send', 'before_settle', 'after_search', 'in_close', 'in_archive']

/**
 * Starts two workers, each replaced when it dies. The first workers die or fall asleep at named points. Later a worker is killed, suspended or
 * cut off at random moments. `points` replaces all these faults. `logged` gets every log line.
 */
export const openViolence = async (
  here: Deployment,
  dice: Random,
  {points: given, logged}: {points?: string[] | undefined; logged?: ((line: string) => void) | undefined} = {},
): Promise<Violence> => {
  const wire = await openProxy(here.config.DATABASE_URL!)
  const points = given ? [...given] : Array.from({length: dice.between(1, 3)}, () => pointOf(dice))
  const done: WakeInTimeInput = {kills: 0, sleeps: 0, cuts: 0}
  const living = new Set<ChildProcess>()
  let alarms = 0
  let over = false

  const start = () => {
    const point = points.shift()
    const environment = {
      LOG_LEVEL: 'error',
      DATABASE_URL: wire.url,
      CRM_SLOTS: String(here.config.CRM_SLOTS),
      ...(point && {FAULT_POINT: point}),
    }
    const worker = startWorker(here.config, environment, ['imports', 'archive'])
    living.add(worker)
    createInterface(worker.stdout!).on('line', line => {
      logged?.(line)
      if (line.includes('the meter differs')) alarms++
    })
    if (point?.endsWith('SIGSTOP')) void wakeInTime(here, worker, done)
    worker.once('exit', () => {
      living.delete(worker)
      if (over) return
      done.kills++
      start()
    })
  }
  start()
  start()

  const actions = given
    ? []
    : Array.from({length: dice.between(1, 3)}, () => dice.pick([killOne, sleepOne, sleepOne, endBackEnds, cutWire]))
  return {
    done,
    meterAlarms: () => alarms,
    async rage(signal) {
      for (const act of actions) {
        await sleep(dice.between(300, 1_200), undefined, {signal}).catch(() => {})
        if (signal.aborted) return
        await act({here, dice, living, done, wire})
      }
    },
    async end() {
      over = true
      await Promise.all([...living].map(endWorker))
      await wire.close()
    },
  }
}

/** Returns a random point with the number of its visit. At frequent points, a third of the workers sleep past the lease instead of dying. */
const pointOf = (dice: Random) => {
  const point = dice.pick(deaths)
  if (!isOften(point)) return `${point}:1`
  return `${point}:${dice.between(1, 6)}${dice.chance(1 / 3) ? ':SIGSTOP' : ''}`
}

const isOften = (point: FaultPoint) => ['after_intent', 'after_send', 'before_settle'].includes(point)

type Scene = {here: Deployment; dice: Random; living: Set<ChildProcess>; done: WakeInTimeInput; wire: Awaited<ReturnType<typeof openProxy>>}

const killOne = async ({dice, living}: Scene) => void dice.pick([...living]).kill('SIGKILL')

const sleepOne = async ({here, dice, living, done}: Scene) => {
  const worker = dice.pick([...living])
  worker.kill('SIGSTOP')
  done.sleeps++
  await sleep(here.config.LEASE_SECONDS * 1_000 + dice.between(200, 800))
  worker.kill('SIGCONT')
}

const endBackEnds = async ({here, done}: Scene) => {
  done.cuts++
  await here.db.query(
    sql.unsafe`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
  )
}

/** Cuts off the workers as a restart of Postgres does: connections end, and new ones are refused. */
const cutWire = async ({dice, done, wire}: Scene) => {
  done.cuts++
  wire.cut()
  await sleep(dice.between(200, 1_500))
  wire.restore()
}

const longestSleepMs = 10_000

/** Wakes a suspended worker half a second after any run was taken over, at the latest after about ten seconds. */
const wakeInTime = async (here: Deployment, worker: ChildProcess, done: WakeInTimeInput) => {
  const isGone = () => worker.exitCode !== null || worker.signalCode !== null
  while (!isGone() && !(await isAsleep(worker))) await sleep(200)
  if (isGone()) return
  done.sleeps++
  const before = await countTaken(here)
  for (const until = performance.now() + longestSleepMs; performance.now() < until && !isGone(); await sleep(100)) {
    if ((await countTaken(here)) > before) break
  }
  await sleep(500)
  await wakeWorker(worker)
}

/** Returns how often runs were taken, or 0 while Postgres does not answer. */
const countTaken = ({db}: Deployment) =>
  db.oneFirst(sql.type(z.object({taken: z.number()}))`select coalesce(sum(fence), 0)::int as taken from run_heads`).catch(() => 0)

/** Whether SIGSTOP has suspended the worker or its child process. */
export const isAsleep = async (worker: ChildProcess) => {
  const pids = await processesOf(worker)
  return promisify(execFile)('ps', ['-o', 'stat=', '-p', pids.join(',')]).then(
    ({stdout}) => /^T/m.test(stdout),
    () => false,
  )
}
