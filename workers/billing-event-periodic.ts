import {sendWaiting} from './billing/reconcile.ts'
import {aboutEachLease, periodicTask} from './periodic.ts'

/**
 * The longest interval between two rounds in ms. With the expiry of an org's billing lock, it keeps the delay of a purchase after a crash
 * below a minute, for any `LEASE_SECONDS`.
 */
const mostMs = 10_000

/** Enqueues waiting payment events. This is a separate task, because the comparison with the provider is as slow as the provider. */
export default periodicTask({name: 'billing-events', everyMs: tools => Math.min(aboutEachLease(tools), mostMs), steps: [sendWaiting]})
