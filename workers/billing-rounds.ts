import {reconcileDue} from './billing/reconcile.ts'
import {aboutEachLease, rounds} from './rounds.ts'

/** What the payment provider has not told, or nobody was there to hear: found by asking. */
export default rounds({name: 'billing', everyMs: aboutEachLease, steps: [reconcileDue]})
