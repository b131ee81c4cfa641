import {fireSchedule, testSchedule} from '../shared/jobs.ts'
import {openOutbound} from '../shared/schedules/outbound/outbound.ts'
import {executeFiring} from './schedules/execute-firing.ts'
import {testFetch} from './schedules/test-fetch.ts'
import {type Worker, worker} from './worker.ts'

/**
 * The number of firings, and of test fetches, that a process executes concurrently. Both mostly wait for an external server, for half an hour if the
 * server is slow. At most three of them are of one org.
 */
const concurrency = {concurrency: 4, perOrg: 3}

/**
 * Executes firings until their runs have started, and executes test fetches. The lease of a firing decides which process owns the firing. The
 * worker `clock` ends the firing when its run ends.
 */
const schedules: Worker = {
  name: fireSchedule.name,
  async start(queue, tools) {
    const outbound = openOutbound(tools.config)
    const fire = worker(fireSchedule, concurrency, async ({org, firing}, work) => ({
      state: await executeFiring({...work, outbound}, {org, id: firing}),
    }))
    const test = worker(testSchedule, concurrency, async ({org, schedule, version}, work) => ({
      fetched: await testFetch({...work, outbound}, {org, id: schedule, version}),
    }))
    await fire.start(queue, tools)
    await test.start(queue, tools)
    return () => outbound.close()
  },
}
export default schedules
