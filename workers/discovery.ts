import {CrmError} from '../shared/crm/crm.ts'
import {diffModules} from '../shared/crm/diff.ts'
import type {DiscoveredModule} from '../shared/crm/discovered.ts'
import {Refusal} from '../shared/errors.ts'
import {newId} from '../shared/ids.ts'
import {runDiscovery} from '../shared/jobs.ts'
import {takeDiscovery} from '../shared/registry/discovery.ts'
import {holdVersion} from '../shared/registry/version.ts'
import {findConnector} from '../sql/connectors.ts'
import type {Tx} from '../sql/database.ts'
import {findLatestDiscovery, insertDiscovery, listDiscoveredModules, seeDiscovery} from '../sql/discoveries.ts'
import {setJobProgress} from '../sql/jobs.ts'
import {isOpenOrg} from '../sql/orgs.ts'
import {type Work, worker} from './worker.ts'

/** Two at once: each keeps four calls in flight to its CRM. */
export default worker(runDiscovery, {concurrency: 2}, async ({org, connector, upkeep}, work) => {
  if (!(await findConnector(work.db, {org, id: connector}))) throw new Refusal('CONNECTION_NOT_FOUND', 'No such connection')
  if (!(await isOpenOrg(work.db, org))) throw new Refusal('ORG_CLOSED', 'This org is closed')
  const modules = await readModules(work, {connector, upkeep})
  const id = await work.db.transaction(tx => keepDiscovery(tx, {org, connector, modules, upkeep}))
  return {discovery: id, modules: modules.length, fields: modules.reduce((sum, {fields}) => sum + fields.length, 0)}
})

/** What the CRM refused or never answered is told to whoever asked; they may ask again. */
const readModules = async ({crm, db, job, signal}: Work, {connector, upkeep}: {connector: string; upkeep: boolean}) => {
  try {
    const connection = await crm.open(connector, {upkeep})
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

type Read = {org: string; connector: string; modules: DiscoveredModule[]; upkeep: boolean}

/** A refresh that finds everything as it was says so on the newest snapshot, and keeps no other: there is one every day. */
const keepDiscovery = async (tx: Tx, {org, connector, modules, upkeep}: Read) => {
  // Held first: of two that end at once, the later one compares itself with the earlier.
  await holdVersion(tx, org)
  const before = await findLatestDiscovery(tx, connector)
  const known = before ? await listDiscoveredModules(tx, before.id) : []
  const diff = diffModules(before && {id: before.id, modules: known}, modules)
  if (upkeep && before && diff.added.length + diff.removed.length + diff.changed.length === 0) return seeDiscovery(tx, before.id)
  const id = newId('dis')
  await insertDiscovery(tx, {id, connector, modules, diff})
  await takeDiscovery(tx, {org, connector, before: known, now: modules})
  return id
}
