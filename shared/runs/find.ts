import type {Db} from '../../sql/database.ts'
import {findImport, findImportId, type Import} from '../../sql/imports.ts'
import {findRun, type Run} from '../../sql/runs.ts'
import {Refusal} from '../errors.ts'
import {type ReadRun, readRun} from './names.ts'

/** `snapshot`: null before a start, for an external run, and if `unread` is set. */
export type FoundRun = ReadRun & {run: Run; importId: string | null}

type OfImport = {org: string; importId: string; runId: string}

/** Throws IMPORT_NOT_FOUND if the org has no such import, and RUN_NOT_FOUND if the import has no such run. */
export const findImportRun = async (db: Db, {org, importId, runId}: OfImport): Promise<FoundRun & {import: Import}> => {
  const found = await findImport(db, {org, id: importId})
  if (!found) throw new Refusal('IMPORT_NOT_FOUND', 'No such import')
  const run = await findRun(db, {org, id: runId})
  if (!run || run.importNo !== found.no) throw new Refusal('RUN_NOT_FOUND', 'The import has no such run')
  return {import: found, run, importId, ...(await readRun(db, run))}
}

export const findOrgRun = async (db: Db, {org, runId}: {org: string; runId: string}): Promise<FoundRun> => {
  const run = await findRun(db, {org, id: runId})
  if (!run) throw new Refusal('RUN_NOT_FOUND', 'No such run')
  return {run, importId: run.importNo === null ? null : await findImportId(db, run.importNo), ...(await readRun(db, run))}
}
