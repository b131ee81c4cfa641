import {CrmError} from '../shared/crm/crm.ts'
import {diffModules} from '../shared/crm/diff.ts'
import type {DiscoveredModule} from '../shared/crm/discovered.ts'
import {Refusal} from '../shared/errors.ts'
import {newId} from '../shared/ids.ts'
import {runDiscovery} from '../shared/jobs.ts'
import {findConnector} from '../sql/connectors.ts'
import type {Tx} from '../sql/database.ts'
import {findLatestDiscovery, insertDiscovery, listDiscoveredModules} from '../sql/discoveries.ts'
import {setJobProgress} from '../sql/jobs.ts'
import {isOpenOrg} from '../sql/orgs.ts'
import {type Work, worker} from './worker.ts'

/** Two at once: each keeps four calls in flight to its CRM. */
export default worker(runDiscovery, {concurrency: 2}, async ({org, connector}, work) => {
  if (!(await findConnector(work.db, {org, id: connector}))) throw new Refusal('CONNECTION_NOT_FOUND', 'No such connection')
  if (!(await isOpenOrg(work.db, org))) throw new Refusal('ORG_CLOSED', 'This org is closed')
  const modules = await readModules(work, connector)
  const id = await work.db.transaction(tx => keepDiscovery(tx, connector, modules))
  return {discovery: id, modules: modules.length, fields: modules.reduce((sum, {fields}) => sum + fields.length, 0)}
})

/** What the CRM refused or never answered is told to whoever asked; they may ask again. */
const readModules = async ({crm, db, job, signal}: Work, connector: string) => {
  try {
    const connection = await crm.open(connector)
    return await connection.readModules({
      signal,
      onProgress: async (done, total) => void (await setJobProgress(db, {id: job.id, done, total, unit: 'modules'})),
    })
  } catch (error) {
    if (signal.aborted) throw new Error('Called off: the queue gives it to another process', {cause: error})
    if (error instanceof CrmError) throw new Refusal('CRM_REFUSED', error.message, {crm: error.crm})
    throw error
  }
}

const keepDiscovery = async (tx: Tx, connector: string, modules: DiscoveredModule[]) => {
  const before = await findLatestDiscovery(tx, connector)
  const diff = diffModules(before && {id: before.id, modules: await listDiscoveredModules(tx, before.id)}, modules)
  const id = newId('dis')
  await insertDiscovery(tx, {id, connector, modules, diff})
  return id
}
