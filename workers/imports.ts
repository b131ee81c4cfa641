import {runImport} from '../shared/jobs.ts'
import {executeRun} from './engine/run.ts'
import {worker} from './worker.ts'

/** Executes a run until it ends or pauses. The run's lease decides which process owns it. */
export default worker(runImport, {concurrency: ({config}) => config.IMPORTS_PER_WORKER}, async ({org, run}, work) => ({
  state: await executeRun(work, {org, id: run}, work),
}))
