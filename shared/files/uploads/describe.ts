import type {UploadRow} from '../../../sql/uploads.ts'

export const partBytes = 8 * 1024 ** 2
/** Minimum bytes of a part except the last, so that the number of parts is limited. */
export const leastPartBytes = 1024 ** 2

/**
 * `offset`: the number of bytes stored so far, at which the next part begins. `source`: the id of the source that the finished upload created, else
 * null.
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
