import {fireSchedule} from '../shared/jobs.ts'
import {openOutbound} from '../shared/schedules/outbound/outbound.ts'
import {executeFiring} from './schedules/execute-firing.ts'
import {type Worker, worker} from './worker.ts'

/** The number of firings that a process executes at once. A firing mostly waits for an external server. */
const concurrency = 4

/** Executes a firing until its run is started. The firing's lease decides which process owns it. The clock ends the firing when its run ends. */
const schedules: Worker = {
  name: fireSchedule.name,
  async start(queue, tools) {
    const outbound = openOutbound(tools.config)
    const fire = worker(fireSchedule, {concurrency}, async ({org, firing}, work) => ({
      state: await executeFiring({...work, outbound}, {org, id: firing}),
    }))
    await fire.start(queue, tools)
    return () => outbound.close()
  },
}
export default schedules
