import {setFlows} from '../../../sql/imports.ts'
import {deleteSource} from '../../../sql/sources.ts'
import type {SourceDeps} from './add.ts'
import {findImportSource, lockOpenImport, type OfSource} from './find.ts'

/**
 * Removes a source. If flows read the source, they are kept and the import becomes a draft. The stored file is deleted too, unless another
 * source or the snapshot of a run names it. A file that is kept is deleted with its last source or with the import.
 */
export const removeSource = async ({db, storage}: Pick<SourceDeps, 'db' | 'storage'>, place: OfSource): Promise<void> => {
  const free = await db.transaction(async tx => {
    const {no, flows} = await lockOpenImport(tx, place)
    const {source} = await findImportSource(tx, place)
    const isFree = await deleteSource(tx, {importNo: no, id: source.id})
    if (flows.some(flow => (flow as {sourceId?: string}).sourceId === source.id)) await setFlows(tx, {no, flows, state: 'draft'})
    return isFree ? source.fileKey : null
  })
  if (free) await storage.remove(free)
}
