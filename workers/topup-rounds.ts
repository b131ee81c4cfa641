import {reconcileOverage, sendOverage} from '../shared/billing/overage.ts'
import {settleAllTopups} from '../shared/billing/topup.ts'
import {startTopups} from '../shared/billing/topup-trigger.ts'
import {aboutEachLease, rounds} from './rounds.ts'
import type {Tools} from './tools.ts'

const perRound = 500
const dayMs = 86_400_000

/** Money that is asked for without anybody at the page: credits for orgs that want to have some at all times, and rows beyond plans. */
export default rounds({
  name: 'topups',
  everyMs: aboutEachLease,
  steps: [
    ({db, queue}) => startTopups({db, queue}, {most: perRound}),
    tools => settleAllTopups(tools, {most: perRound}),
    tools => sendOverage(tools, {most: perRound}),
    tools => compareDaily(tools),
  ],
})

let comparedAt = 0

/** Once a day in each process: it only looks. */
const compareDaily = async (tools: Tools) => {
  if (Date.now() - comparedAt < dayMs) return
  await reconcileOverage(tools, {most: 10_000})
  comparedAt = Date.now()
}
