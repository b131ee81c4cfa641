import {hasPendingDeletes} from '../../sql/purge.ts'
import {deleteExpiredUploads} from '../../sql/uploads.ts'
import {inPieces} from '../pieces.ts'
import {removePendingDeletes} from './objects.ts'
import {attempt, type RetentionDeps} from './tally.ts'

/** The limit on uploads per statement. Each is deleted with its parts, which may be thousands. */
const uploadsPerDelete = 5

/** Deletes abandoned uploads, then the objects that are pending delete, such as the parts of completed or cancelled uploads. */
export const removeUploads = async (retaining: RetentionDeps) => {
  const {db, drain, tally} = retaining
  const expire = () =>
    inPieces(
      drain,
      uploadsPerDelete,
      limit => deleteExpiredUploads(db, {limit}),
      rows => tally.add({uploads: rows}),
    )
  await attempt(retaining, 'uploads', null, expire)
  if (await hasPendingDeletes(db)) await attempt(retaining, 'objects', null, () => removePendingDeletes(retaining))
}
