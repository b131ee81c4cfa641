import {holdCurrent} from '../shared/billing/credits/balance.ts'
import {releaseIdle} from '../shared/billing/entitlements/rows.ts'
import {endTrials} from '../shared/billing/entitlements/trial.ts'
import {listOrgsToSweep} from '../sql/ai-credits.ts'
import type {WorkerDeps} from './deps.ts'
import {aboutEachLease, periodicTask} from './periodic.ts'

const perRound = 500

/**
 * Releases AI credits that were reserved and never settled. Every use of an org's AI credits does the same, so this step serves orgs that
 * use none.
 */
const releaseAbandoned = async ({db, drain}: WorkerDeps) => {
  for (const org of await listOrgsToSweep(db, perRound)) {
    drain.throwIfAborted()
    await db.transaction(tx => holdCurrent(tx, org))
  }
}

/**
 * Stores the effects of time on plans, rows and credits. No decision waits for this task, because every decision computes these effects
 * from the current time.
 */
export default periodicTask({
  name: 'entitlements',
  everyMs: aboutEachLease,
  steps: [({db}) => endTrials(db, {most: perRound}), ({db}) => releaseIdle(db, {most: perRound}), releaseAbandoned],
})
