import {applyDiscovery} from '../shared/configuration/discovery.ts'
import {holdVersion} from '../shared/configuration/version.ts'
import type {Connection} from '../shared/crm/crm.ts'
import {diffModules} from '../shared/crm/diff.ts'
import type {DiscoveredModule} from '../shared/crm/discovered.ts'
import {CrmError, refusalOf} from '../shared/crm/error.ts'
import {hasQuota} from '../shared/crm/limits/quota-report.ts'
import {placeSubforms} from '../shared/crm/metadata.ts'
import {Refusal} from '../shared/errors.ts'
import {newIdAfter} from '../shared/ids.ts'
import {recheckTemplates, runDiscovery} from '../shared/jobs.ts'
import {enqueue, type Queue} from '../shared/queue.ts'
import {type ConnectorRow, findConnector, setWarnings} from '../sql/connectors.ts'
import {keepLicence} from '../sql/crm-quota.ts'
import type {Tx} from '../sql/database.ts'
import {findLatestDiscovery, insertDiscovery, listDiscoveredModules, markDiscoverySeen} from '../sql/discoveries.ts'
import {setJobProgress} from '../sql/jobs.ts'
import {isOpenOrg} from '../sql/orgs.ts'
import {type Work, worker} from './worker.ts'

/** Executes discoveries, two at once: each keeps four calls to its CRM in flight. */
export default worker(runDiscovery, {concurrency: 2}, async ({org, connector, upkeep}, work) => {
  const found = await findConnector(work.db, {org, id: connector})
  if (!found) throw new Refusal('CONNECTION_NOT_FOUND', 'No such connection')
  if (!(await isOpenOrg(work.db, org))) throw new Refusal('ORG_CLOSED', 'This org is closed')
  const read = await readModules(work, {found, upkeep})
  const {id, modules} = await work.db.transaction(tx => keepDiscovery(tx, work.queue, {org, connector, read, upkeep}))
  return {discovery: id, modules: modules.length, fields: modules.reduce((sum, {fields}) => sum + fields.length, 0)}
})

/** Reads the modules. A CRM error becomes a refusal for the caller, who may retry. */
const readModules = async ({crm, db, log, job, signal}: Work, {found, upkeep}: {found: ConnectorRow; upkeep: boolean}) => {
  try {
    const connection = await crm.open(found.id, {upkeep})
    await readWarnings({db, log, signal}, {connector: found.id, connection})
    if (upkeep && hasQuota(found)) await readEdition({db, log, signal}, {found, connection})
    return await connection.readModules({
      signal,
      onProgress: async (done, total) => void (await setJobProgress(db, {id: job.id, done, total, unit: 'modules'})),
    })
  } catch (error) {
    if (signal.aborted) throw new Error('Aborted: the queue gives the job to another process', {cause: error})
    if (error instanceof CrmError) throw refusalOf(error)
    throw error
  }
}

/** Reads the connection's warnings. If the CRM does not answer, the earlier warnings stay and the discovery continues. */
const readWarnings = async (
  {db, log, signal}: Pick<Work, 'db' | 'log' | 'signal'>,
  {connector, connection}: {connector: string; connection: Connection},
) => {
  try {
    const access = await connection.readAccess({signal})
    await setWarnings(db, {id: connector, warnings: access?.warnings ?? []})
  } catch (error) {
    if (!(error instanceof CrmError)) throw error
    log.info({err: error, connector}, 'could not read the access of the CRM user; earlier warnings stay')
  }
}

/**
 * Reads the edition of the CRM org, which decides how many calls may be in flight. While the edition is unknown, reads by id may find no free slot
 * beside writes. A refresh reads the edition again, because it may change. If the CRM does not answer, the earlier edition stays.
 */
const readEdition = async (
  {db, log, signal}: Pick<Work, 'db' | 'log' | 'signal'>,
  {found, connection}: {found: ConnectorRow; connection: Connection},
) => {
  try {
    const licence = await connection.readLicence({signal})
    if (licence) await keepLicence(db, found, licence)
  } catch (error) {
    if (!(error instanceof CrmError)) throw error
    log.info({err: error, connector: found.id}, 'could not read the edition of the CRM org; the earlier one stays')
  }
}

type ReadDiscovery = {org: string; connector: string; read: DiscoveredModule[]; upkeep: boolean}

/** Stores a discovery. A refresh without changes only marks the newest discovery as seen again, so that equal discoveries do not pile up. */
const keepDiscovery = async (tx: Tx, queue: Queue, {org, connector, read, upkeep}: ReadDiscovery) => {
  // This lock is taken first. Thus, if two discoveries end at the same time, the later is compared with the earlier.
  await holdVersion(tx, org)
  const before = await findLatestDiscovery(tx, connector)
  const known = before ? await listDiscoveredModules(tx, before.id) : []
  const modules = withKnownFields(known, read)
  const diff = diffModules(before && {id: before.id, modules: known}, modules)
  const isChanged = diff.added.length + diff.removed.length + diff.changed.length > 0
  if (upkeep && before && !isChanged) return {id: await markDiscoverySeen(tx, before.id), modules}
  const id = newIdAfter('dis', before?.id ?? null)
  await insertDiscovery(tx, {id, connector, modules, diff})
  await applyDiscovery(tx, {org, connector, before: known, now: modules})
  if (isChanged) await enqueue(queue, recheckTemplates, {org, connector}, {tx})
  return {id, modules}
}

/**
 * Returns the modules that were read. A module whose fields could not be read keeps the fields of the previous discovery, so that imports into the
 * module and its subforms continue.
 */
const withKnownFields = (known: readonly DiscoveredModule[], read: DiscoveredModule[]): DiscoveredModule[] =>
  placeSubforms(
    read.map(module => {
      const before = module.unread && known.find(({apiName}) => apiName === module.apiName)
      return before
        ? {...withOptionsOf(before), ...module, fields: before.fields, namingField: module.namingField ?? before.namingField}
        : module
    }),
  )

const withOptionsOf = ({layouts, assignmentRules}: DiscoveredModule) => ({
  ...(layouts && {layouts}),
  ...(assignmentRules && {assignmentRules}),
})
