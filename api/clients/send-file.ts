import {ApiError, type Client, type Json, Unreachable} from './http.ts'
import {type Pause, pause as usualPause} from './pause.ts'

export type Upload = {
  id: string
  name: string
  slot: string | null
  size: number
  offset: number
  partBytes: number
  leastPartBytes: number
  expiresAt: string
}
export type Part = {at: string; offset: number; bytes: number}
type UploadInput = {
  client: Client
  /** Path of the import's uploads. */
  path: string
  /** How to read the file, as `ReaderOptions`. Omitted options are detected. */
  reader?: object | undefined
  sendPart(part: Part): Promise<Upload>
  /** Called with the number of bytes that have been sent so far, at the start and after each part. */
  onSent(bytes: number): void
  /** Called when all parts are sent, before the server reads the file. */
  onWhole?(): Promise<void> | void
  signal?: AbortSignal | undefined
  pause?: Pause
}

const pausesMs = [500, 1000, 2000, 4000, 8000, 15_000, 30_000]
const longestPauseMs = 60_000
/** The time-out of finishing an upload, in ms. The server reads the whole file before it responds. */
const finishMs = 900_000

export const beginUpload = async (
  client: Client,
  path: string,
  {name, size, slot}: {name: string; size: number; slot?: string | null | undefined},
): Promise<Upload> => (await client.post(path, {name, size, ...(slot && {slot})})).upload

/**
 * Sends the missing parts and returns `{source, filled?}`. Failed parts are retried for about a minute, in smaller parts. The server
 * reports the offset to continue at and stores no part twice.
 */
export const sendUpload = async (sending: UploadInput, begun: Upload): Promise<Json> => {
  const {client, path, reader, sendPart, onSent, onWhole, signal} = sending
  const body = {...(reader && {reader})}
  const at = `${path}/${begun.id}`
  let upload = begun
  let {partBytes} = begun
  onSent(upload.offset)
  for (let failures = 0; upload.offset < upload.size; ) {
    const {offset, size} = upload
    try {
      upload = await sendPart({at: `${at}/parts/${offset}`, offset, bytes: Math.min(partBytes, size - offset)})
      if (upload.offset <= offset) throw new Error('The server did not store the uploaded part. Try again')
      failures = 0
    } catch (error) {
      await waitAfter(error, failures++, sending)
      partBytes = upload.leastPartBytes
      upload = await readUpload(sending, at, upload)
    }
    onSent(upload.offset)
  }
  await onWhole?.()
  // Finishing is idempotent, so a lost response can be retried.
  for (let failures = 0; ; ) {
    try {
      return (await client.call('POST', `${at}/finish`, {body, timeoutMs: finishMs, ...(signal && {signal})})).body
    } catch (error) {
      await waitAfter(error, failures++, sending)
    }
  }
}

/** Waits before a retry. Throws errors that a retry cannot fix, and the last error after all retries. */
const waitAfter = async (error: unknown, failures: number, {signal, pause = usualPause}: UploadInput): Promise<void> => {
  const pauseMs = pausesMs[failures]
  if (signal?.aborted) throw signal.reason
  if (pauseMs === undefined || !isPassing(error)) throw error
  const told = error instanceof ApiError ? error.retryAfterMs : null
  await pause(Math.min(Math.max(pauseMs, told ?? 0), longestPauseMs), signal)
}

const passing = ['RATE_LIMITED', 'UPLOAD_BROKEN', 'UPLOAD_OFFSET', 'DIGEST_MISMATCH', 'REQUEST_TIMEOUT']
export const isPassing = (error: unknown): boolean =>
  error instanceof Unreachable || (error instanceof ApiError && (error.status >= 500 || passing.includes(error.code)))

/** Reads the upload again. While the server is unavailable, it returns the last known state. */
const readUpload = async ({client, signal}: UploadInput, at: string, upload: Upload): Promise<Upload> => {
  try {
    return (await client.get(at, {}, signal)).upload
  } catch (error) {
    if (signal?.aborted) throw signal.reason
    if (isPassing(error)) return upload
    throw error
  }
}
