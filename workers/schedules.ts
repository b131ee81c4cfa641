import {fireSchedule} from '../shared/jobs.ts'
import {openOutbound} from '../shared/outbound/outbound.ts'
import {carryFiring} from './schedules/carry.ts'
import {type Worker, worker} from './worker.ts'

/** Four at once: most of a firing is waiting for somebody else's server. */
const concurrency = 4

/** Carries a firing until its run has been started; the firing's lease decides whose it is, and the clock ends it with its run. */
const schedules: Worker = {
  name: fireSchedule.name,
  async start(queue, tools) {
    const outbound = openOutbound(tools.config)
    const fire = worker(fireSchedule, {concurrency}, async ({org, firing}, work) => ({
      state: await carryFiring({...work, outbound}, {org, id: firing}),
    }))
    await fire.start(queue, tools)
    return () => outbound.close()
  },
}
export default schedules
