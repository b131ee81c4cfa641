import type {UploadRow} from '../../../sql/uploads.ts'

/** Maximum and minimum bytes of a part. The last part may be smaller. The minimum limits the number of parts. */
export const partBytes = 8 * 1024 ** 2
export const leastPartBytes = 1024 ** 2

/**
 * Describes an upload. `offset` is the number of bytes stored so far, where the next part begins. `source` is the source that a finished
 * upload became.
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
