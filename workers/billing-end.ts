import {endBillingOf} from '../shared/billing/ending.ts'
import {endBilling} from '../shared/jobs.ts'
import {isOpenOrg} from '../sql/orgs.ts'
import {worker} from './worker.ts'

/** One that is open again by now keeps what it pays for. */
export default worker(endBilling, {concurrency: 1}, async ({org}, tools) => {
  if (await isOpenOrg(tools.db, org)) return {ended: false}
  return {ended: await endBillingOf(tools, org, {when: 'period_end'})}
})
