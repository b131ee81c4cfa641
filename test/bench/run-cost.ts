import {setTimeout as sleep} from 'node:timers/promises'
import {mapConcurrent} from '../../shared/concurrency/map-concurrent.ts'
import {type PreparedImport, prepareImport, startRun} from './bench-import.ts'
import {type Deployment, startDeployment} from './deployment.ts'
import {readCosts} from './row-cost.ts'
import {fileOf, plain} from './rows.ts'

const runs = 100
const warmUps = 20
const rows = 50
const everyMs = 300

/**
 * Measures what a run costs besides its rows: the processor time of each process and the write-ahead log of one run of 50 rows. Includes
 * everything from the request for the run to the end of the run. One run starts every 300 ms, so that none waits for another. The CRM does
 * nothing.
 */
export const measureRunCost = async () => {
  const deployment = await startDeployment('runs', {
    crm: ['test/bench/idle-crm.ts'],
    env: {RATE_PER_BEARER: '0', RATE_PER_ADDRESS: '0'},
  })
  try {
    const csv = fileOf(rows, 's ')
    const prepare = () => prepareImport(deployment.places[0], {csv, flow: plain})
    const prepared = await mapConcurrent(Array.from({length: warmUps + runs}), 4, prepare)
    await startEach(deployment, prepared.slice(0, warmUps))
    const before = await readCosts(deployment)
    await startEach(deployment, prepared.slice(warmUps))
    const after = await readCosts(deployment)
    const milliseconds = (name: 'imports' | 'postgres' | 'web') => ((after[name] - before[name]) / runs) * 1000
    return {
      runImportsMilliseconds: milliseconds('imports'),
      runPostgresMilliseconds: milliseconds('postgres'),
      runApiMilliseconds: milliseconds('web'),
      runWalKilobytes: (after.wal - before.wal) / runs / 1000,
    }
  } finally {
    await deployment.stop()
  }
}

const startEach = async ({ended}: Deployment, prepared: PreparedImport[]) => {
  const ids: string[] = []
  for (const one of prepared) {
    ids.push(await startRun(one))
    await sleep(everyMs)
  }
  await ended(ids)
}
