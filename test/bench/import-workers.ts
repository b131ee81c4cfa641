import {setTimeout as sleep} from 'node:timers/promises'
import {type PreparedImport, prepareImport, startRun} from './bench-import.ts'
import {type Deployment, startDeployment} from './deployment.ts'
import {medianOf} from './median.ts'
import {fileOf, plain} from './rows.ts'

const rounds = 5
const orgs = 4
const slotsPerOrg = 3
const latencyMs = 200
const rows = 10_000
const firstRows = 1_000
const takenWithinMs = 30_000

/**
 * Measures the gain from more `imports` processes: rows per second of four processes with one run in each of four orgs ÷ those of one process
 * with one run in one org. Each org has a separate CRM, three slots and 200 ms per call, so a single run reaches at most 1,500 rows/s.
 * Also measures one process that executes all four runs at once. Rounds are interleaved, with 10,000 rows per run. The results are the medians
 * of their ratios.
 */
export const measureImportWorkers = async () => {
  const four = await openOrgs('workers', {imports: orgs, runsEach: 1})
  try {
    const one = await openOrgs('worker', {imports: 1, runsEach: orgs})
    try {
      return await compare(four, one)
    } finally {
      await one.deployment.stop()
    }
  } finally {
    await four.deployment.stop()
  }
}

const compare = async (four: Orgs, one: Orgs) => {
  const measured = {four: [] as number[], one: [] as number[], speed: [] as number[]}
  // These runs do not count, because the first run of each process compiles the code.
  for (const orgs of [four, one]) await speedOf(orgs, orgs.imports, firstRows)
  for (let round = 0; round < rounds; round++) {
    const alone = await speedOf(four, four.imports.slice(0, 1))
    const together = await speedOf(four, four.imports)
    const inOne = await speedOf(one, one.imports)
    measured.four.push(together / alone)
    measured.one.push(inOne / alone)
    measured.speed.push(together)
  }
  return {
    fourWorkersOverOne: medianOf(measured.four),
    fourRunsInOneWorkerOverOne: medianOf(measured.one),
    fourWorkersRowsPerSecond: medianOf(measured.speed),
  }
}

type Orgs = {deployment: Deployment; imports: PreparedImport[]; workers: number}

const openOrgs = async (label: string, {imports, runsEach}: {imports: number; runsEach: number}): Promise<Orgs> => {
  const deployment = await startDeployment(label, {
    crm: ['test/bench/idle-crm.ts', '--latency', `${latencyMs}`, '--orgs', `${orgs}`],
    env: {CRM_SLOTS: `${slotsPerOrg}`, IMPORTS_PER_WORKER: `${runsEach}`},
    people: ['bench1@example.org', 'bench2@example.org', 'bench3@example.org', 'bench4@example.org'],
    imports,
  })
  try {
    const csv = fileOf(rows, 'w ')
    const prepared: PreparedImport[] = []
    for (const place of deployment.places) prepared.push(await prepareImport(place, {csv, flow: plain}))
    return {deployment, imports: prepared, workers: imports}
  } catch (error) {
    await deployment.stop()
    throw error
  }
}

/** Returns the rows per second of these runs together, from the first start to the last end. */
const speedOf = async ({deployment, workers}: Orgs, imports: PreparedImport[], rowsEach = rows) => {
  const ids = await Promise.all(imports.map(one => startRun(one, {rows: {to: rowsEach}})))
  await untilTaken(deployment, ids, Math.min(workers, imports.length))
  const ended = await deployment.ended(ids)
  const seconds = Math.max(...ended.map(({endedAt}) => endedAt)) - Math.min(...ended.map(({startedAt}) => startedAt))
  return (rowsEach * imports.length) / seconds
}

/** Waits until all runs are active at once, in this number of processes. */
const untilTaken = async ({query}: Deployment, ids: string[], workers: number) => {
  for (const until = Date.now() + takenWithinMs; Date.now() < until; await sleep(50)) {
    const [found] = await query<{runs: number; workers: number}>(
      `select count(*)::int as runs, count(distinct owner)::int as workers from runs join run_heads using (run_no)
       where id = any($1) and state = 'writing' and lease_until > lading_now()`,
      [ids],
    )
    if (found!.runs === ids.length && found!.workers === workers) return
  }
  throw new Error(`${ids.length} runs were not under way in ${workers} workers at once`)
}
