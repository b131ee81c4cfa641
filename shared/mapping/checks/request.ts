import type {Tx} from '../../../sql/database.ts'
import {findLatestDiscovery} from '../../../sql/discoveries.ts'
import {lockImport} from '../../../sql/imports.ts'
import {Refusal} from '../../errors.ts'
import {checkImport} from '../../jobs.ts'
import {enqueue, type Queue} from '../../queue.ts'

/**
 * Enqueues a check of the import as it is when the job starts. Returns the queued or running job if there is one, or null if that job ended just now.
 * A check can run during a run of the import.
 */
export const requestCheck = async (tx: Tx, queue: Queue, {org, importId}: {org: string; importId: string}): Promise<string | null> => {
  const found = await lockImport(tx, {org, id: importId})
  if (!found) throw new Refusal('IMPORT_NOT_FOUND', 'No such import')
  if (found.state === 'expired') throw new Refusal('FILE_GONE', 'This import has expired and its files were deleted. Create a new import')
  if (found.flows.length === 0) throw new Refusal('NOT_READY', 'Add a file and define flows before checking')
  if (!(await findLatestDiscovery(tx, found.connectorId)))
    throw new Refusal(
      'NO_DISCOVERY',
      'The modules of this connection have not been discovered yet. Call POST /orgs/{org}/discovery/run first',
    )
  return enqueue(queue, checkImport, {org, import: importId}, {tx})
}
