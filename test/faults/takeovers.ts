import type {ChildProcess} from 'node:child_process'
import {createInterface} from 'node:readline'
import {setTimeout as sleep} from 'node:timers/promises'
import {z} from 'zod'
import {sql} from '../../sql/database.ts'
import {accountRows, accounts, ok, prepareImport, untilEnded} from '../support/importing.ts'
import {until} from '../support/until.ts'
import {endWorker, startWorker} from '../support/worker-spawn.ts'
import type {Ground} from './carried.ts'
import type {Stage} from './scenario.ts'

const imports = 5
const rowsEach = 2_500
const signals: NodeJS.Signals[] = ['SIGKILL', 'SIGSTOP', 'SIGKILL', 'SIGSTOP']
/** Lease in seconds, long compared to the delays of a busy machine. */
const leaseSeconds = 3
const longestSeconds = 10 * leaseSeconds

/**
 * Kills or suspends the owner of five runs while another process is ready, and times each takeover. The CRM is slow, so that the runs last.
 * Before that, each owner settles a row of each run; otherwise crash isolation would take the runs.
 */
export const timeTakeovers = async (stage: Stage, {here, org}: Ground) => {
  const workers: ChildProcess[] = []
  const start = async () => {
    const worker = startWorker(here.config, {LOG_LEVEL: 'info', ...patient}, ['imports'])
    workers.push(worker)
    const isWorking = Promise.withResolvers<void>()
    createInterface(worker.stdout!).on('line', line => {
      stage.logged(line)
      if (line.includes('"working"')) isWorking.resolve()
    })
    await isWorking.promise
    return worker
  }
  here.crm.setSwitches({latencyMs: 1_000})
  const paths = await Promise.all(Array.from({length: imports}, (_, n) => begin(org, `T${n}-`)))
  const ids = paths.map(path => path.split('/').at(-1)!)
  const took: number[] = []
  try {
    let owner = await start()
    await untilOwned(here, ids, owner)
    for (const signal of signals) {
      const next = await start()
      await until(() => listOwned(here, ids), isCarried)
      owner.kill(signal)
      took.push(...(await timeEach(here, ids, next)))
      stage.did(signal === 'SIGKILL' ? 'owners killed' : 'owners put to sleep')
      if (signal === 'SIGSTOP') owner.kill('SIGCONT')
      await endWorker(owner)
      owner = next
    }
    here.crm.setSwitches({latencyMs: 0})
    for (const path of paths)
      stage.expect((await untilEnded(org.call, path)).counts.Accounts.created === rowsEach, `rows of ${path} were not created`)
  } finally {
    here.crm.setSwitches({latencyMs: 0})
    await Promise.all(workers.map(endWorker))
  }
  const byLease = took.map(seconds => seconds / leaseSeconds).toSorted((a, b) => a - b)
  stage.figure('takeovers', took.length, {least: imports * signals.length})
  stage.figure('takeover median over lease', byLease[Math.floor(byLease.length / 2)]!)
  stage.figure('takeover p99 over lease', byLease[Math.ceil(byLease.length * 0.99) - 1]!, {most: 2})
}

/** Settings of a worker with a slot for each run and a long CRM time-out. */
const patient = {
  LEASE_SECONDS: String(leaseSeconds),
  CRM_TIMEOUT_SECONDS: '60',
  IMPORTS_PER_WORKER: String(imports),
  CRM_SLOTS: String(imports),
}

const begin = async (org: Ground['org'], prefix: string) => {
  const {path} = await prepareImport(org, {csv: accountRows(rowsEach, prefix), flow: {...accounts, match: undefined}})
  const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  return `${path}/runs/${run.id}`
}

const Owned = z.object({id: z.string(), owner: z.string().nullable(), takeovers: z.number()})
type Owned = z.infer<typeof Owned>

const isCarried = (runs: readonly Owned[]) => runs.every(({takeovers}) => takeovers === 0)

const listOwned = ({db}: Ground['here'], ids: string[]) =>
  db.any(sql.type(Owned)`
    select id, owner, takeovers from runs join run_heads using (run_no) where id = any(${sql.array(ids, 'text')})`)

/** Waits until the given process owns every run. Returns one number of seconds per run. */
const timeEach = async (here: Ground['here'], ids: string[], {pid}: ChildProcess): Promise<number[]> => {
  const began = performance.now()
  const taken = new Map<string, number>()
  while (taken.size < ids.length) {
    const seconds = (performance.now() - began) / 1_000
    if (seconds > longestSeconds) throw new Error(`${taken.size} of ${ids.length} runs were taken over within ${longestSeconds} s`)
    for (const {id, owner} of await listOwned(here, ids)) if (owner?.endsWith(`:${pid}`) && !taken.has(id)) taken.set(id, seconds)
    await sleep(20)
  }
  return [...taken.values()]
}

const untilOwned = (here: Ground['here'], ids: string[], {pid}: ChildProcess) =>
  until(
    () => listOwned(here, ids),
    heads => heads.every(({owner}) => owner?.endsWith(`:${pid}`)),
    60,
  )
