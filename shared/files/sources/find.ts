import type {Db, Pool, Tx} from '../../../sql/database.ts'
import {findImport, type Import, lockImport} from '../../../sql/imports.ts'
import {findSource, type Source} from '../../../sql/sources.ts'
import {Refusal} from '../../errors.ts'
import {freeImport} from '../../runs/external/run.ts'

export type OfSource = {org: string; importId: string; sourceId: string}

export const findImportSource = async (db: Db, {org, importId, sourceId}: OfSource): Promise<{import: Import; source: Source}> => {
  const found = await findImport(db, {org, id: importId})
  if (!found) throw new Refusal('IMPORT_NOT_FOUND', 'No such import')
  if (found.state === 'expired') throw new Refusal('FILE_GONE', 'This import has expired and its files were deleted. Create a new import')
  const source = await findSource(db, {importNo: found.no, id: sourceId})
  if (!source) throw new Refusal('SOURCE_NOT_FOUND', 'The import has no such file')
  return {import: found, source}
}

type OfImport = Pick<OfSource, 'org' | 'importId'>

/** Locks the import for the transaction. Ends an external run whose lease expired. Throws if another run on the import is active. */
export const lockOpenImport = async (tx: Tx, {org, importId}: OfImport): Promise<Import> => {
  const locked = await lockImport(tx, {org, id: importId})
  if (!locked) throw new Refusal('IMPORT_NOT_FOUND', 'No such import')
  if (locked.state === 'expired') throw new Refusal('FILE_GONE', 'This import has expired. Create a new import')
  if (locked.state === 'running') await freeImport(tx, {org, importNo: locked.no})
  return locked
}

/** Makes the checks of `lockOpenImport` but keeps no lock. Call this before long work whose result is stored later under the lock. */
export const assertOpen = async (db: Pool, place: OfImport): Promise<void> => {
  await db.transaction(tx => lockOpenImport(tx, place))
}
