import {settleTopup} from '../shared/billing/topup.ts'
import {chargeTopup} from '../shared/jobs.ts'
import {worker} from './worker.ts'

/** One whose outcome nobody knows is no failure of the job's: the rounds look at it again. */
export default worker(chargeTopup, {concurrency: 2}, async (asked, tools) => ({state: await settleTopup(tools, asked)}))
