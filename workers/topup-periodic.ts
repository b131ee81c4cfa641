import {reconcileOverage, sendOverage} from '../shared/billing/overage.ts'
import {alignOverage} from '../shared/billing/overage-price.ts'
import {restoreOverage} from '../shared/billing/overage-switch.ts'
import {settleAllTopups} from '../shared/billing/topup.ts'
import {issueTopupInvoices} from '../shared/billing/topup-invoice.ts'
import {startTopups} from '../shared/billing/topup-trigger.ts'
import type {WorkerDeps} from './deps.ts'
import {aboutEachLease, periodicTask} from './periodic.ts'

const perRound = 500
/** The maximum number of orgs per round in steps that cost little per org, so that no org waits long for others. */
const many = 10_000
const dayMs = 86_400_000

/** Starts due automatic top-ups, settles open top-ups, issues their invoices, and reports overage to the payment provider. */
export default periodicTask({
  name: 'topups',
  everyMs: aboutEachLease,
  steps: [
    async deps => deps.payment.isConfigured && startTopups(deps, {most: many}),
    deps => settleAllTopups(deps, {most: perRound}),
    deps => issueTopupInvoices(deps, {most: perRound}),
    deps => sendOverage(deps, {most: perRound}),
    deps => compareDaily(deps),
  ],
})

let comparedAt = 0

/**
 * Corrects overage prices and adds lost overage items at the provider, then compares the provider's meter with the confirmed reports. Each process
 * does this once a day. After a failure, it tries again the next day. Each of the three calls can safely be repeated.
 */
const compareDaily = async (deps: WorkerDeps) => {
  if (Date.now() - comparedAt < dayMs) return
  comparedAt = Date.now()
  await alignOverage(deps, {most: many})
  await restoreOverage(deps, {most: many})
  await reconcileOverage(deps, {most: many})
}
