import type {Db} from '../../sql/database.ts'
import {findImport, type Import} from '../../sql/imports.ts'
import {findSnapshot} from '../../sql/run-snapshots.ts'
import {findRun, type Run} from '../../sql/runs.ts'
import {Refusal} from '../errors.ts'
import {Snapshot} from '../flows/snapshot.ts'

export type FoundRun = {import: Import; run: Run; snapshot: Snapshot}

/** A run of this import, with what it froze. Refuses another org's and another import's as it refuses what does not exist. */
export const findImportRun = async (db: Db, {org, importId, runId}: {org: string; importId: string; runId: string}): Promise<FoundRun> => {
  const found = await findImport(db, {org, id: importId})
  if (!found) throw new Refusal('IMPORT_NOT_FOUND', 'No such import')
  const run = await findRun(db, {org, id: runId})
  if (!run || run.importNo !== found.no || run.snapshotNo === null) throw new Refusal('RUN_NOT_FOUND', 'The import has no such run')
  return {import: found, run, snapshot: await readSnapshot(db, run.snapshotNo)}
}

export const readSnapshot = async (db: Db, no: number): Promise<Snapshot> => {
  const stored = await findSnapshot(db, no)
  if (!stored) throw new Error(`Snapshot ${no} is gone`)
  return Snapshot.parse(stored.document)
}
