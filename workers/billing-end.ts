import {endBillingOf} from '../shared/billing/ending.ts'
import {endBilling} from '../shared/jobs.ts'
import {isOpenOrg} from '../sql/orgs.ts'
import {worker} from './worker.ts'

/** Ends the billing of closed orgs at the end of their period. An org that was reopened meanwhile keeps its subscription. */
export default worker(endBilling, {concurrency: 1}, async ({org}, tools) => {
  if (await isOpenOrg(tools.db, org)) return {ended: false}
  return {ended: await endBillingOf(tools, org, {when: 'period_end'})}
})
