import {hasDoomed} from '../../sql/emptying.ts'
import {deleteExpiredUploads} from '../../sql/uploads.ts'
import {inPieces} from '../pieces.ts'
import {removeDoomed} from './objects.ts'
import {attempt, type Retaining} from './tally.ts'

/** Each takes its parts with it, which may be thousands. */
const uploadsPerDelete = 5

/** What nobody sends on any more goes, and what was let go of: parts of files that came whole, or that somebody gave up. */
export const removeUploads = async (retaining: Retaining) => {
  const {db, drain, tally} = retaining
  const expire = () =>
    inPieces(
      drain,
      uploadsPerDelete,
      limit => deleteExpiredUploads(db, {limit}),
      rows => tally.add({uploads: rows}),
    )
  await attempt(retaining, 'uploads', null, expire)
  if (await hasDoomed(db)) await attempt(retaining, 'objects', null, () => removeDoomed(retaining))
}
