import {sendWaiting} from './billing/reconcile.ts'
import {aboutEachLease, periodicTask} from './periodic.ts'

/**
 * The longest interval between two looks. With the expiry of an org's billing lock, it keeps the delay of a purchase after a crash below a
 * minute, for any `LEASE_SECONDS`.
 */
const mostMs = 10_000

/** Enqueues waiting payment events. A separate task, because the comparison with the provider is slow while the provider is slow. */
export default periodicTask({name: 'billing-events', everyMs: tools => Math.min(aboutEachLease(tools), mostMs), steps: [sendWaiting]})
