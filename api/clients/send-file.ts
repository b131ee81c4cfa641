import {ApiError, type Client, type Json, Unreachable} from './http.ts'
import {type Pause, pause as usualPause} from './pause.ts'

/** A file on its way in parts, as the server has it. */
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
type Sending = {
  client: Client
  /** Of the import's uploads. */
  path: string
  /** Of a workbook, the sheet that is read; the first one with rows where none is named. */
  sheet?: string | undefined
  /** Puts these bytes of the file to the address; answers the upload by then. */
  sendPart(part: Part): Promise<Upload>
  onSent(bytes: number): void
  /** When all of it is there, and before it is read on the other side. */
  onWhole?(): Promise<void> | void
  signal?: AbortSignal | undefined
  pause?: Pause
}

const pausesMs = [500, 1000, 2000, 4000, 8000, 15_000, 30_000]
const longestPauseMs = 60_000
/** The whole file is read on the other side before it answers. */
const finishMs = 900_000

export const beginUpload = async (
  client: Client,
  path: string,
  {name, size, slot}: {name: string; size: number; slot?: string | null | undefined},
): Promise<Upload> => (await client.post(path, {name, size, ...(slot && {slot})})).upload

/**
 * Sends what the server does not have yet, part after part, and answers `{source, filled?}`. What breaks off is sent again for about a minute,
 * in smaller parts: the server says where to go on, and keeps none twice.
 */
export const sendUpload = async (sending: Sending, begun: Upload): Promise<Json> => {
  const {client, path, sheet, sendPart, onSent, onWhole, signal} = sending
  const body = {...(sheet !== undefined && {sheet})}
  const at = `${path}/${begun.id}`
  let upload = begun
  let {partBytes} = begun
  onSent(upload.offset)
  for (let failures = 0; upload.offset < upload.size; ) {
    const {offset, size} = upload
    try {
      upload = await sendPart({at: `${at}/parts/${offset}`, offset, bytes: Math.min(partBytes, size - offset)})
      if (upload.offset <= offset) throw new Error('The server has not kept what was sent: try again')
      failures = 0
    } catch (error) {
      await waitAfter(error, failures++, sending)
      partBytes = upload.leastPartBytes
      upload = await readUpload(sending, at, upload)
    }
    onSent(upload.offset)
  }
  await onWhole?.()
  // Asked again it answers the same, so a lost answer costs nothing.
  for (let failures = 0; ; ) {
    try {
      return (await client.call('POST', `${at}/finish`, {body, timeoutMs: finishMs, ...(signal && {signal})})).body
    } catch (error) {
      await waitAfter(error, failures++, sending)
    }
  }
}

/** Throws what cannot be mended by doing it again, and what was tried often enough. */
const waitAfter = async (error: unknown, failures: number, {signal, pause = usualPause}: Sending): Promise<void> => {
  const pauseMs = pausesMs[failures]
  if (signal?.aborted) throw signal.reason
  if (pauseMs === undefined || !isPassing(error)) throw error
  const told = error instanceof ApiError ? error.retryAfterMs : null
  await pause(Math.min(Math.max(pauseMs, told ?? 0), longestPauseMs), signal)
}

const passing = ['RATE_LIMITED', 'UPLOAD_BROKEN', 'UPLOAD_OFFSET', 'DIGEST_MISMATCH', 'REQUEST_TIMEOUT']
export const isPassing = (error: unknown): boolean =>
  error instanceof Unreachable || (error instanceof ApiError && (error.status >= 500 || passing.includes(error.code)))

/** What the server has by now; what it had, while it is away. */
const readUpload = async ({client, signal}: Sending, at: string, known: Upload): Promise<Upload> => {
  try {
    return (await client.get(at, {}, signal)).upload
  } catch (error) {
    if (signal?.aborted) throw signal.reason
    if (isPassing(error)) return known
    throw error
  }
}
