import type {Readable} from 'node:stream'
import type {Pool} from '../../sql/database.ts'
import {findImport, lockImport} from '../../sql/imports.ts'
import {findPlan} from '../../sql/plans.ts'
import {insertSource, type Source} from '../../sql/sources.ts'
import type {Config} from '../config.ts'
import {Refusal} from '../errors.ts'
import {newId} from '../ids.ts'
import {takeIn} from '../imports/intake.ts'
import type {Storage} from '../storage.ts'

type Added = {org: string; importId: string; name: string; label: string; body: Readable}

/**
 * Streams a file into storage and reads it through on the way. The row is written last: a file that is refused, or an upload that
 * breaks off, leaves neither row nor object.
 */
export const addSource = async (
  tools: {db: Pool; storage: Storage; config: Config},
  {org, importId, name, label, body}: Added,
): Promise<Source> => {
  const {db, storage, config} = tools
  const found = await findImport(db, {org, id: importId})
  assertOpen(found)
  const {limits} = await findPlan(db, org)
  const id = newId('src')
  const key = `${org}/${importId}/${id}`
  const maxBytes = Math.min(config.FILE_LIMIT_BYTES, limits.fileBytes)
  const {bytes, sha256, reader, rows, ...evidence} = await takeIn({body, maxBytes, storage, key})
  try {
    return await db.transaction(async tx => {
      const locked = await lockImport(tx, {org, id: importId})
      assertOpen(locked)
      return insertSource(tx, {importNo: locked.no, id, name, label, fileKey: key, sha256, bytes, reader, rows, evidence})
    })
  } catch (error) {
    await storage.remove(key)
    throw error
  }
}

function assertOpen<T extends {state: string}>(found: T | null): asserts found is T {
  if (!found) throw new Refusal('IMPORT_NOT_FOUND', 'No such import')
  if (found.state === 'running') throw new Refusal('IMPORT_RUNNING', 'A run of this import is under way: wait for it or cancel it')
  if (found.state === 'expired') throw new Refusal('FILE_GONE', 'This import has expired: make a new one')
}
