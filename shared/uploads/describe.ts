import type {Upload} from '../../sql/uploads.ts'

/** What one piece may have at most, and at least unless it is the file's last: a file of pieces that are too small would be too many. */
export const partBytes = 8 * 1024 ** 2
export const leastPartBytes = 1024 ** 2

/** `offset`: so many bytes are kept, and the next piece begins there. `source`: what a finished one became. */
export const describeUpload = ({id, name, label, slot, bytes, kept, sourceId, createdAt, expiresAt}: Upload) => ({
  ...{id, name, label, slot, size: bytes, offset: kept},
  ...{partBytes, leastPartBytes, source: sourceId, createdAt, expiresAt},
})
