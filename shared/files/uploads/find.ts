import type {Db} from '../../../sql/database.ts'
import {findImport, type Import} from '../../../sql/imports.ts'
import {findUpload, type UploadRow} from '../../../sql/uploads.ts'
import {Refusal} from '../../errors.ts'

export type OfUpload = {org: string; importId: string; uploadId: string}

/** Also succeeds during a run on the import, although no upload can begin or finish then. */
export const findImportForUploads = async (db: Db, {org, importId}: Omit<OfUpload, 'uploadId'>): Promise<Import> => {
  const found = await findImport(db, {org, id: importId})
  if (!found) throw new Refusal('IMPORT_NOT_FOUND', 'No such import')
  if (found.state === 'expired') throw new Refusal('FILE_GONE', 'This import has expired and its files were deleted. Create a new import')
  return found
}

export const findImportUpload = async (db: Db, {uploadId, ...place}: OfUpload): Promise<UploadRow> => {
  const {no: importNo} = await findImportForUploads(db, place)
  return (await findUpload(db, {importNo, id: uploadId})) ?? refuseGone()
}

export const refuseGone = (): never => {
  throw new Refusal('UPLOAD_NOT_FOUND', 'No such upload. An upload that receives no part for a day is removed. Begin a new one')
}
