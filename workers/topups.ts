import {settleTopup} from '../shared/billing/topup.ts'
import {chargeTopup} from '../shared/jobs.ts'
import {worker} from './worker.ts'

/** Settles a top-up. A charge with an unknown outcome does not fail the job, because the periodic task checks it again. */
export default worker(chargeTopup, {concurrency: 2}, async (asked, tools) => ({state: await settleTopup(tools, asked)}))
