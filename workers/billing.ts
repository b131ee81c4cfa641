import {applyPaymentEvent} from '../shared/jobs.ts'
import {applyEvents} from './billing/events.ts'
import {worker} from './worker.ts'

/** Applies events of the payment provider, org by org. Four run at once, because each mostly waits for the provider. */
export default worker(applyPaymentEvent, {concurrency: 4}, async ({event}, work) => ({status: await applyEvents(work, event)}))
