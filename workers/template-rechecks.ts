import {Refusal} from '../shared/errors.ts'
import {recheckTemplates as job} from '../shared/jobs.ts'
import {isOpenOrg} from '../sql/orgs.ts'
import {recheckTemplates} from './checks/recheck-templates.ts'
import {worker} from './worker.ts'

/** Executes checks of templates after discoveries, one at a time, so that they do not delay checks for which a person waits. */
export default worker(job, {concurrency: 1}, async ({org, connector}, work) => {
  if (!(await isOpenOrg(work.db, org))) throw new Refusal('ORG_CLOSED', 'This org is closed')
  return recheckTemplates(work, {org, connector})
})
