import {runImport} from '../shared/jobs.ts'
import {executeRun} from './engine/run.ts'
import {waitForStatistics} from './engine/settle/statistics.ts'
import {type Worker, worker} from './worker.ts'

/** Executes a run until it ends or pauses. The run's lease decides which process owns it. */
const runs = worker(runImport, {concurrency: ({config}) => config.IMPORTS_PER_WORKER}, async ({org, run}, work) => ({
  state: await executeRun(work, {org, id: run}, work),
}))

export default {
  name: runs.name,
  async start(queue, deps) {
    await runs.start(queue, deps)
    return waitForStatistics
  },
} satisfies Worker
