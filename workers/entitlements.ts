import {holdCurrent} from '../shared/credits/balance.ts'
import {releaseIdle} from '../shared/entitlements/rows.ts'
import {endTrials} from '../shared/entitlements/trial.ts'
import {listOrgsToSweep} from '../sql/credits.ts'
import {aboutEachLease, rounds} from './rounds.ts'
import type {Tools} from './tools.ts'

const perRound = 500

/** Credits that somebody reserved and never settled. Whoever touches the org's credits finds them too; this is for orgs nobody touches. */
const releaseAbandoned = async ({db, drain}: Tools) => {
  for (const org of await listOrgsToSweep(db, perRound)) {
    drain.throwIfAborted()
    await db.transaction(tx => holdCurrent(tx, org))
  }
}

/**
 * Writes down what time has done to plans, rows and credits. Nothing waits for it: every decision is made of what follows from the time by
 * itself.
 */
export default rounds({
  name: 'entitlements',
  everyMs: aboutEachLease,
  steps: [({db}) => endTrials(db, {most: perRound}), ({db}) => releaseIdle(db, {most: perRound}), releaseAbandoned],
})
