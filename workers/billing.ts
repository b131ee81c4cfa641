import {applyPaymentEvent} from '../shared/jobs.ts'
import {applyEvents} from './billing/events.ts'
import {worker} from './worker.ts'

/** What the payment provider has told, applied org by org. Four at once: each waits for the provider most of its time. */
export default worker(applyPaymentEvent, {concurrency: 4}, async ({event}, work) => ({status: await applyEvents(work, event)}))
