import {setFlows} from '../../../sql/imports.ts'
import {deleteSource} from '../../../sql/sources.ts'
import type {SourceDeps} from './add.ts'
import {findImportSource, lockOpenImport, type OfSource} from './find.ts'

/**
 * If flows read the source, keeps them and makes the import a draft. Deletes the stored file too, unless another source or a run's snapshot names it.
 */
export const removeSource = async ({db, storage}: Pick<SourceDeps, 'db' | 'storage'>, place: OfSource): Promise<void> => {
  const free = await db.transaction(async tx => {
    const {no, flows} = await lockOpenImport(tx, place)
    const {source} = await findImportSource(tx, place)
    const isFree = await deleteSource(tx, {importNo: no, id: source.id})
    if (flows.some(flow => (flow as {sourceId?: string}).sourceId === source.id)) await setFlows(tx, {no, flows, state: 'draft'})
    return isFree ? source.fileKey : null
  })
  // If the storage fails, a worker removes the file: the transaction has listed it.
  if (free) await storage.remove(free).catch(() => {})
}
