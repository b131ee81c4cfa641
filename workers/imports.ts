import {runImport} from '../shared/jobs.ts'
import {carryRun} from './engine/run.ts'
import {worker} from './worker.ts'

/** Carries a run as far as it goes; the run's lease decides whose it is. */
export default worker(runImport, {concurrency: ({config}) => config.IMPORTS_PER_WORKER}, async ({org, run}, work) => ({
  state: await carryRun(work, {org, id: run}, work),
}))
