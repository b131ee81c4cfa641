import type {UploadRow} from '../../../sql/uploads.ts'

/** Maximum and minimum bytes of a part. The last part may be smaller. The minimum limits the number of parts. */
export const partBytes = 8 * 1024 ** 2
export const leastPartBytes = 1024 ** 2

/**
 * Describes an upload. `offset`: the number of bytes stored so far, at which the next part begins. `source`: the id of the source that the
 * finished upload created; null before.
 */
export const describeUpload = ({id, name, label, slot, bytes, kept, sourceId, createdAt, expiresAt}: UploadRow) => ({
  id,
  name,
  label,
  slot,
  size: bytes,
  offset: kept,
  partBytes,
  leastPartBytes,
  source: sourceId,
  createdAt,
  expiresAt,
})
