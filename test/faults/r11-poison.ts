import type {ChildProcess} from 'node:child_process'
import {createInterface} from 'node:readline'
import {mostCrashes} from '../../workers/engine/recover/crash-isolation.ts'
import {accountRows, accounts, openOrg, runImport} from '../support/importing.ts'
import {readSamples, sumOf} from '../support/metrics.ts'
import {endWorker, startWorker} from '../support/worker-spawn.ts'
import {carryCase, environment, type Ground, openGround, prepareCase} from './carried.ts'
import {writeCase} from './cases.ts'
import type {Scenario, Stage} from './scenario.ts'

const rows = 60
const [besides, processes] = [4, 2]
/** How many workers a run may kill. After that, the run executes in child processes and may crash `mostCrashes` of them. */
const mostDeaths = 2
/**
 * How often workers may take a run. A process that hangs loses its lease, so each other process may take the run before the last crash is
 * counted. One more take stops the run.
 */
const mostTakes = mostDeaths + mostCrashes + (processes - 1) + 1

/** Seconds after which a hanging process ends itself: longer than a lease, and than a process takes to start on a busy machine. */
const hungAfterSeconds = 6

/**
 * Faults at the point where a run reads its parent keys, which the other org's runs do not reach. V8 ends a process that is out of memory with
 * SIGABRT. The watchdog ends a process that loops. Null: no process fault, because Postgres refuses the keys instead.
 */
const KINDS = {crashes: 'in_index:1', 'runs out of memory': 'in_index:1:SIGABRT', loops: 'in_index:1:LOOP', throws: null} as const

/**
 * Runs an import that each worker fails to execute, while another org's imports run. Each worker that dies is replaced, as by a supervisor of
 * the Procfile.
 */
export const poison: Scenario = {
  row: 'R11',
  fault: 'one run crashes every worker that takes it, one exhausts its memory, one loops forever, one throws',
  goal: `stopped after ${mostDeaths} workers and ${mostCrashes} crashes, with its reason; the runs of another org continue`,
  async play(stage) {
    const ground = await openGround(await stage.open({workers: ['discovery'], environment}))
    const other = await openOrg(ground.here, 'kim@eu.example')
    let mark = 0
    const runBeside = async () => {
      const since = performance.now()
      const {run} = await runImport(other, {csv: accountRows(20, `B${mark++}-`), flow: accounts})
      stage.expect(run.stop === null && run.rowsWritten === 20, `a run beside it was stopped: ${run.stop?.stopped}`)
      return (performance.now() - since) / 1_000
    }
    const quiet = await withWorkers(stage, ground, null, async () => [await runBeside(), await runBeside(), await runBeside()])
    const beside: number[] = []
    for (const [kind, point] of Object.entries(KINDS)) beside.push(...(await playKind(stage, ground, {kind, point, runBeside})))
    stage.figure('runs beside it', beside.length, {least: besides * Object.keys(KINDS).length})
    // If the process that dies next has taken a run of the other org, another process continues that run two leases later.
    stage.figure('their median over that of quiet times', median(beside) / median(quiet), {most: 4})
    stage.figure('the longest of them in leases', Math.max(...beside) / ground.here.config.LEASE_SECONDS)
    const {text} = await ground.here.as(ground.here.adminToken)('GET', '/metrics')
    const told = sumOf(readSamples(text), 'lading_runs_stopped', {reason: 'ENGINE_FAILED'})
    stage.figure('runs stopped, as the metrics tell', told, {least: 1})
  },
}

type Kind = {kind: string; point: string | null; runBeside(): Promise<number>}

const playKind = async (stage: Stage, ground: Ground, {kind, point, runBeside}: Kind): Promise<number[]> => {
  const {hot} = ground.here
  const prepared = await prepareCase(ground, writeCase(2, stage.dice, rows))
  if (point === null) await refuseKeys(ground)
  return withWorkers(stage, ground, point, async deaths => {
    const beside: number[] = []
    const carried = await carryCase(ground, prepared, async () => {
      for (let n = 0; n < besides; n++) beside.push(await runBeside())
    })
    const {stop, id} = carried.run
    stage.did(`runs of which each worker ${kind}`)
    stage.expect(
      stop?.stopped === 'ENGINE_FAILED' && stop.message.length > 0,
      `a run of which each worker ${kind} ended with ${stop?.stopped}`,
    )
    if (point !== null) stage.figure(`workers it ${kind}`, deaths(), {most: mostDeaths})
    const {rows} = await hot.query('select fence from runs join run_heads using (run_no) where id = $1', [id])
    stage.figure(`takes where it ${kind}`, rows[0].fence, {most: mostTakes})
    stage.judged(await carried.judge())
    if (point === null) await hot.query('drop trigger poisoned on run_parent_keys')
    return beside
  })
}

/** Makes Postgres refuse inserts of parent keys, so that every worker of the run throws. */
const refuseKeys = async ({here}: Ground) => {
  await here.hot.query(`create function poisoned() returns trigger language plpgsql as $$ begin raise exception 'poisoned'; end $$`)
  await here.hot.query('create trigger poisoned before insert on run_parent_keys for each row execute function poisoned()')
}

const withWorkers = async <T>(
  stage: Stage,
  {here}: Ground,
  point: string | null,
  work: (deaths: () => number) => Promise<T>,
): Promise<T> => {
  const living = new Set<ChildProcess>()
  let [deaths, over] = [0, false]
  const start = () => {
    const worker = startWorker(here.config, {LOG_LEVEL: 'error', ...(point && {FAULT_POINT: point})}, [
      'imports',
      `--hung-after=${hungAfterSeconds}`,
    ])
    living.add(worker)
    createInterface(worker.stdout!).on('line', stage.logged)
    worker.once('exit', () => {
      living.delete(worker)
      if (over) return
      deaths++
      start()
    })
  }
  for (let n = 0; n < processes; n++) start()
  try {
    return await work(() => deaths)
  } finally {
    over = true
    await Promise.all([...living].map(endWorker))
  }
}

const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
