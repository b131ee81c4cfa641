import {setFlows} from '../../sql/imports.ts'
import {deleteSource} from '../../sql/sources.ts'
import type {SourceTools} from './add.ts'
import {findImportSource, lockOpenImport, type OfSource} from './find.ts'

/**
 * Flows over the source stay as they are, and the import is a draft again until they are set anew. The file goes too, unless another
 * source or the results of a run are read from it: then it goes with the import.
 */
export const removeSource = async ({db, storage}: Pick<SourceTools, 'db' | 'storage'>, place: OfSource): Promise<void> => {
  const free = await db.transaction(async tx => {
    const {no, flows} = await lockOpenImport(tx, place)
    const {source} = await findImportSource(tx, place)
    const isFree = await deleteSource(tx, {importNo: no, id: source.id})
    if (flows.some(flow => (flow as {sourceId?: string}).sourceId === source.id)) await setFlows(tx, {no, flows, state: 'draft'})
    return isFree ? source.fileKey : null
  })
  if (free) await storage.remove(free)
}
