import type {Tx} from '../../sql/database.ts'
import {findLatestDiscovery} from '../../sql/discoveries.ts'
import {lockImport} from '../../sql/imports.ts'
import {Refusal} from '../errors.ts'
import {checkImport} from '../jobs.ts'
import {enqueue, type Queue} from '../queue.ts'

/** Enqueues a check of the import as it will be when the job begins; answers the job under way where there is one. A run does not stand in its way. */
export const requestCheck = async (tx: Tx, queue: Queue, {org, importId}: {org: string; importId: string}): Promise<string | null> => {
  const found = await lockImport(tx, {org, id: importId})
  if (!found) throw new Refusal('IMPORT_NOT_FOUND', 'No such import')
  if (found.state === 'expired') throw new Refusal('FILE_GONE', 'This import has expired and its files are gone: make a new one')
  if (found.flows.length === 0) throw new Refusal('NOT_READY', 'Add a file and define flows before checking')
  if (!(await findLatestDiscovery(tx, found.connectorId)))
    throw new Refusal('NO_DISCOVERY', 'The connection has not been read yet: POST /orgs/{org}/discovery/run first')
  return enqueue(queue, checkImport, {org, import: importId}, {tx})
}
