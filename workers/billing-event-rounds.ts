import {sendWaiting} from './billing/reconcile.ts'
import {aboutEachLease, rounds} from './rounds.ts'

/** With the lease of an org's billing this stays below the minute in which a purchase is applied after a crash, whatever `LEASE_SECONDS` is. */
const mostMs = 10_000

/** Separate from the comparison with the provider, which takes long while the provider is slow. */
export default rounds({name: 'billing-events', everyMs: tools => Math.min(aboutEachLease(tools), mostMs), steps: [sendWaiting]})
