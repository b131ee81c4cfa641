import {type ChildProcess, execFile} from 'node:child_process'
import {once} from 'node:events'
import {createInterface} from 'node:readline'
import {setTimeout as sleep} from 'node:timers/promises'
import {promisify} from 'node:util'
import {sql} from '../../sql/database.ts'
import type {Deployment} from '../deployment.ts'
import {openProxy} from '../tcp-proxy.ts'
import {endWorker, startWorker} from '../worker-spawn.ts'
import type {Dice} from './dice.ts'

/** What was done to the processes of a seed. */
export type Done = {kills: number; sleeps: number; cuts: number}

export type Violence = {
  /** Until `signal` says that the run is over, or all that was laid out has been done; then what is left works undisturbed. */
  rage(signal: AbortSignal): Promise<void>
  done: Done
  /** What workers have logged of the meter: a difference is our fault. */
  meterAlarms(): number
  end(): Promise<void>
}

const deaths = ['after_intent', 'after_send', 'before_settle', 'in_close', 'in_archive'] as const

/** Two workers, each replaced when it dies. The first ones die at named points; then one is killed, put to sleep or cut off at any moment. `given`: points, and nothing else. */
export const openViolence = async (here: Deployment, dice: Dice, given?: string[]): Promise<Violence> => {
  const wire = await openProxy(here.config.DATABASE_URL!)
  const points = given ?? Array.from({length: dice.between(1, 3)}, () => pointOf(dice))
  const done: Done = {kills: 0, sleeps: 0, cuts: 0}
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
      if (line.includes('the meter differs')) alarms++
    })
    if (point?.endsWith('SIGSTOP')) void wakeInTime(worker, here.config.LEASE_SECONDS * 1_000 + 700, done)
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

/** A third of them sleep there past the lease instead of dying. */
const pointOf = (dice: Dice) => {
  const point = dice.pick(deaths)
  if (point === 'in_close' || point === 'in_archive') return `${point}:1`
  return `${point}:${dice.between(1, 6)}${dice.chance(1 / 3) ? ':SIGSTOP' : ''}`
}

type Scene = {here: Deployment; dice: Dice; living: Set<ChildProcess>; done: Done; wire: Awaited<ReturnType<typeof openProxy>>}

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

/** As while Postgres starts again: its connections end, and new ones are refused. */
const cutWire = async ({dice, done, wire}: Scene) => {
  done.cuts++
  wire.cut()
  await sleep(dice.between(200, 1_500))
  wire.mend()
}

/** A worker that lets itself fall asleep is woken when its lease is another's. */
const wakeInTime = async (worker: ChildProcess, sleepMs: number, done: Done) => {
  const gone = once(worker, 'exit')
  while (worker.exitCode === null && worker.signalCode === null) {
    await Promise.race([sleep(200), gone])
    if (!(await isAsleep(worker))) continue
    done.sleeps++
    await Promise.race([sleep(sleepMs), gone])
    worker.kill('SIGCONT')
    return
  }
}

const isAsleep = ({pid}: ChildProcess) =>
  promisify(execFile)('ps', ['-o', 'stat=', '-p', String(pid)]).then(
    ({stdout}) => stdout.startsWith('T'),
    () => false,
  )
