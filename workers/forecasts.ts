import {Refusal} from '../shared/errors.ts'
import {forecastImport as job} from '../shared/jobs.ts'
import {isOpenOrg} from '../sql/orgs.ts'
import {forecastImport} from './checks/forecast/forecast.ts'
import {worker} from './worker.ts'

/** Executes forecasts, two at once: one reads while the expressions of the other run in their own thread. */
export default worker(job, {concurrency: 2}, async ({org, import: importId}, work) => {
  if (!(await isOpenOrg(work.db, org))) throw new Refusal('ORG_CLOSED', 'This org is closed')
  return forecastImport(work, {org, importId})
})
