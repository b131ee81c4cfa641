import {setTimeout as sleep} from 'node:timers/promises'
import {mapConcurrent} from '../../shared/concurrency/map-concurrent.ts'
import {cancelRun, type PreparedImport, prepareImport, startRun} from './bench-import.ts'
import {type Deployment, startDeployment} from './deployment.ts'
import {medianOf, percentileOf} from './median.ts'
import {fileOf, plain} from './rows.ts'

const rounds = 5
const smallRuns = 200
const smallRows = 50
const everyMs = 80
const largeRows = 1_000_000
const latencyMs = 400
const slots = 10
const processes = 2
const runsPerProcess = 8
const warmUps = 40
const atFullSpeed = 2_000
const underWayWithinMs = 60_000

/**
 * Measures how long people wait for small imports while a large one is active in the same org. The figure is the 95th percentile of the time
 * from the request for a run of 50 rows to its end, with a run of 1,000,000 rows ÷ without it.
 * 200 small runs start, one every 80 ms. One CRM org has ten slots and 400 ms per call, so the small runs alone need half of the slots. Two
 * `imports` processes execute eight runs each. So sixteen runs can be active, and no small run waits until another run ends.
 * The result is the median ratio of five interleaved rounds. Each round starts a new large run and cancels it when the small runs have ended.
 */
export const measureSmallRuns = async () => {
  const deployment = await startDeployment('small', {
    crm: ['test/bench/idle-crm.ts', '--latency', `${latencyMs}`],
    env: {CRM_SLOTS: `${slots}`, IMPORTS_PER_WORKER: `${runsPerProcess}`, RATE_PER_BEARER: '0', RATE_PER_ADDRESS: '0'},
    imports: processes,
  })
  try {
    const [place] = deployment.places
    const csv = fileOf(smallRows, 's ')
    const small = await mapConcurrent(
      Array.from({length: smallRuns}, () => csv),
      4,
      csv => prepareImport(place, {csv, flow: plain}),
    )
    const large = await prepareImport(place, {csv: fileOf(largeRows, 'l '), flow: plain})
    return await compare(deployment, {small, large})
  } finally {
    await deployment.stop()
  }
}

type Imports = {small: PreparedImport[]; large: PreparedImport}

const compare = async (deployment: Deployment, {small, large}: Imports) => {
  const measured = {ratio: [] as number[], alone: [] as number[], beside: [] as number[]}
  await secondsOf(deployment, small.slice(0, warmUps))
  for (let round = 0; round < rounds; round++) {
    const alone = percentileOf(await secondsOf(deployment, small), 95)
    const beside = percentileOf(await besideLarge(deployment, large, () => secondsOf(deployment, small)), 95)
    measured.ratio.push(beside / alone)
    measured.alone.push(alone)
    measured.beside.push(beside)
  }
  return {
    smallRunsBesideLarge: medianOf(measured.ratio),
    smallRunP95Seconds: medianOf(measured.alone),
    smallRunP95SecondsBesideLarge: medianOf(measured.beside),
  }
}

/** Returns the seconds from the request for each run to the end of the run. */
const secondsOf = async ({ended}: Deployment, imports: PreparedImport[]) => {
  const from = performance.now()
  const asked = imports.map(async (one, at) => {
    await sleep(Math.max(0, at * everyMs - (performance.now() - from)))
    const askedAt = Date.now() / 1000
    return {id: await startRun(one), askedAt}
  })
  const runs = await Promise.all(asked)
  const endedAt = new Map((await ended(runs.map(({id}) => id))).map(run => [run.id, run.endedAt]))
  return runs.map(({id, askedAt}) => endedAt.get(id)! - askedAt)
}

/** Executes `work` while a large run is active. The large run has all slots at the beginning and is still active at the end. */
const besideLarge = async <T>(deployment: Deployment, large: PreparedImport, work: () => Promise<T>): Promise<T> => {
  const id = await startRun(large)
  await untilWritten(deployment, id, atFullSpeed)
  const done = await work()
  await untilWritten(deployment, id, atFullSpeed + 1)
  await cancelRun(large, id)
  await deployment.ended([id], {cancelled: true})
  return done
}

const untilWritten = async ({query}: Deployment, id: string, rows: number) => {
  for (const until = Date.now() + underWayWithinMs; Date.now() < until; await sleep(100)) {
    const [run] = await query<{state: string; entries: number}>(
      'select state, next_seq::int - 1 as entries from runs join run_heads using (run_no) where id = $1',
      [id],
    )
    if (run!.state === 'ended') throw new Error('The large run ended before the small ones')
    if (run!.entries >= rows) return
  }
  throw new Error(`The large run has not written ${rows} rows`)
}
