import type {Db} from '../../sql/database.ts'
import {findImport, findImportId, type Import} from '../../sql/imports.ts'
import {findRun, type Run} from '../../sql/runs.ts'
import {Refusal} from '../errors.ts'
import {type ReadRun, readRun} from './names.ts'

/** `snapshot` is null for a run the service's own engine has not been given. */
export type FoundRun = ReadRun & {run: Run; importId: string | null}

type OfImport = {org: string; importId: string; runId: string}

/** A run of this import, with what it froze. Refuses another org's and another import's as it refuses what does not exist. */
export const findImportRun = async (db: Db, {org, importId, runId}: OfImport): Promise<FoundRun & {import: Import}> => {
  const found = await findImport(db, {org, id: importId})
  if (!found) throw new Refusal('IMPORT_NOT_FOUND', 'No such import')
  const run = await findRun(db, {org, id: runId})
  if (!run || run.importNo !== found.no) throw new Refusal('RUN_NOT_FOUND', 'The import has no such run')
  return {import: found, run, importId, ...(await readRun(db, run))}
}

/** Any run of the org, of an import or of none. */
export const findOrgRun = async (db: Db, {org, runId}: {org: string; runId: string}): Promise<FoundRun> => {
  const run = await findRun(db, {org, id: runId})
  if (!run) throw new Refusal('RUN_NOT_FOUND', 'No such run')
  return {run, importId: run.importNo === null ? null : await findImportId(db, run.importNo), ...(await readRun(db, run))}
}
