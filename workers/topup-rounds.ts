import {reconcileOverage, sendOverage} from '../shared/billing/overage.ts'
import {alignOverage} from '../shared/billing/overage-price.ts'
import {restoreOverage} from '../shared/billing/overage-switch.ts'
import {settleAllTopups} from '../shared/billing/topup.ts'
import {issueTopupInvoices} from '../shared/billing/topup-invoice.ts'
import {startTopups} from '../shared/billing/topup-trigger.ts'
import {aboutEachLease, rounds} from './rounds.ts'
import type {Tools} from './tools.ts'

const perRound = 500
/** Of what costs little each, and is not to stand behind others for ever. */
const many = 10_000
const dayMs = 86_400_000

/** Money that is asked for without anybody at the page: credits for orgs that want to have some at all times, and rows beyond plans. */
export default rounds({
  name: 'topups',
  everyMs: aboutEachLease,
  steps: [
    async tools => tools.payment.isConfigured && startTopups(tools, {most: many}),
    tools => settleAllTopups(tools, {most: perRound}),
    tools => issueTopupInvoices(tools, {most: perRound}),
    tools => sendOverage(tools, {most: perRound}),
    tools => compareDaily(tools),
  ],
})

let comparedAt = 0

/** Once a day in each process, also where it fails: what is done twice is done once, and each looks back further than a day. */
const compareDaily = async (tools: Tools) => {
  if (Date.now() - comparedAt < dayMs) return
  comparedAt = Date.now()
  await alignOverage(tools, {most: many})
  await restoreOverage(tools, {most: many})
  await reconcileOverage(tools, {most: many})
}
