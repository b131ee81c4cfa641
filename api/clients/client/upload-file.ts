import {ApiError, type Client, type Json} from '../http.ts'
import {beginUpload, type Part, sendUpload, type Upload} from '../send-file.ts'

export type UploadFileInput = {
  org: string
  /** The import. */
  id: string
  file: Blob
  name: string
  slot?: string
  /** How to read the file. Omitted options are detected. */
  reader?: object
  /**
   * The id of an interrupted upload, as `onStarted` received it. If this upload has expired or has another size than the file, a new one
   * begins.
   */
  upload?: string
}

export type UploadOptions = {
  signal?: AbortSignal
  /** Called with the id of the upload before the first byte is sent. Keep the id to resume the upload. */
  onStarted?(upload: string): void
  /** Called at the start and after each part with the number of bytes that the server has stored. */
  onSent?(bytes: number): void
  /** The maximum size of a part, in bytes, if the server's usual size is too large for the connection. */
  partBytes?: number
}

/** Uploads a file in parts, each with a digest. Failed parts are sent again. Returns `{source, filled?}`. */
export const uploadFile = async (client: Client, input: UploadFileInput, options: UploadOptions = {}): Promise<Json> => {
  const {org, id, file, name, slot, reader} = input
  const path = `/orgs/${encodeURIComponent(org)}/imports/${encodeURIComponent(id)}/uploads`
  const begun = (await findUpload(client, path, input)) ?? (await beginUpload(client, path, {name, size: file.size, slot}))
  options.onStarted?.(begun.id)
  const {signal, onSent = () => {}, partBytes = Infinity} = options
  const sendPart = (part: Part) => putPart(client, file, part, signal)
  return sendUpload({client, path, reader, sendPart, onSent, signal}, {...begun, partBytes: Math.min(partBytes, begun.partBytes)})
}

/** Returns the upload to resume, or null if it no longer exists or has another size than the file. */
const findUpload = async (client: Client, path: string, {upload: id, file}: UploadFileInput): Promise<Upload | null> => {
  if (id === undefined) return null
  try {
    const {upload} = await client.get(`${path}/${encodeURIComponent(id)}`)
    return upload.size === file.size ? upload : null
  } catch (error) {
    if (error instanceof ApiError && error.code === 'UPLOAD_NOT_FOUND') return null
    throw error
  }
}

const putPart = async (client: Client, file: Blob, {at, offset, bytes}: Part, signal: AbortSignal | undefined): Promise<Upload> => {
  const body = new Uint8Array(await file.slice(offset, offset + bytes).arrayBuffer())
  const digest = btoa(String.fromCharCode(...new Uint8Array(await crypto.subtle.digest('SHA-256', body))))
  const headers = {'content-type': 'application/octet-stream', 'content-digest': `sha-256=:${digest}:`}
  return (await client.call('PUT', at, {body, headers, ...(signal && {signal})})).body.upload
}
