import type {Db, Tx} from '../../sql/database.ts'
import {findImport, type Import, lockImport} from '../../sql/imports.ts'
import {findSource, type Source} from '../../sql/sources.ts'
import {Refusal} from '../errors.ts'

export type OfSource = {org: string; importId: string; sourceId: string}

export const findImportSource = async (db: Db, {org, importId, sourceId}: OfSource): Promise<{import: Import; source: Source}> => {
  const found = await findImport(db, {org, id: importId})
  if (!found) throw new Refusal('IMPORT_NOT_FOUND', 'No such import')
  const source = await findSource(db, {importNo: found.no, id: sourceId})
  if (!source) throw new Refusal('SOURCE_NOT_FOUND', 'The import has no such file')
  return {import: found, source}
}

/** The import, held until the transaction ends. */
export const lockOpenImport = async (tx: Tx, {org, importId}: Pick<OfSource, 'org' | 'importId'>): Promise<Import> => {
  const locked = await lockImport(tx, {org, id: importId})
  assertOpen(locked)
  return locked
}

/** Files change only while no run reads them. */
export function assertOpen<T extends {state: string}>(found: T | null): asserts found is T {
  if (!found) throw new Refusal('IMPORT_NOT_FOUND', 'No such import')
  if (found.state === 'running') throw new Refusal('IMPORT_RUNNING', 'A run of this import is under way: wait for it or cancel it')
  if (found.state === 'expired') throw new Refusal('FILE_GONE', 'This import has expired: make a new one')
}
