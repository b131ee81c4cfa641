import {enqueueWaitingEvents} from './billing/reconcile.ts'
import {aboutEachLease, periodicTask} from './periodic.ts'

/**
 * The longest interval between two rounds in ms. After a crash, a purchase waits for this interval and for the expiry of the org's billing lock. Both
 * together take less than a minute, for any `LEASE_SECONDS`.
 */
const mostMs = 10_000

/**
 * Enqueues one job for each waiting provider event, because the job of another event applies only events that were never tried. The task is
 * separate from `billing`, because that task waits for the provider.
 */
export default periodicTask({
  name: 'billing-events',
  everyMs: tools => Math.min(aboutEachLease(tools), mostMs),
  steps: [enqueueWaitingEvents],
})
