import {reconcileDue} from './billing/reconcile.ts'
import {aboutEachLease, periodicTask} from './periodic.ts'

/** Queries the payment provider for changes that no webhook delivered. */
export default periodicTask({name: 'billing', everyMs: aboutEachLease, steps: [reconcileDue]})
