import {createHash} from 'node:crypto'
import {type FileHandle, open} from 'node:fs/promises'
import {ApiError, type Json, Unreachable} from '../http.ts'
import {beginUpload, isPassing, type Part, sendUpload, type Upload} from '../send-file.ts'
import {EXIT} from './exit-codes.ts'
import {badFile, Failure, failureOf} from './failure.ts'
import type {LocalFile} from './inputs.ts'
import type {Session} from './session.ts'

/**
 * An upload to do. `begun`: the id of the upload that an earlier command started. `remember` is called with a new upload before its first byte
 * is sent.
 */
type SendFileInput = {
  session: Session
  importId: string
  file: LocalFile
  slot: string | null
  begun: string | null
  remember(upload: string): Promise<void>
  onSent(bytes: number): void
  signal: AbortSignal
}

const mostPartBytes = 4 * 1024 ** 2
const chunkBytes = 128 * 1024
/** The time without progress after which a connection is aborted, in ms. */
const stallMs = 60_000

/** Uploads a file in parts. Returns the source and the result of filling its slot. */
export const sendFile = async (sending: SendFileInput): Promise<Json> => {
  const {session, importId, file, slot, remember, onSent, signal} = sending
  const {client} = session
  const path = session.path(`imports/${importId}/uploads`)
  let upload = await findStartedUpload(sending, path)
  if (!upload) {
    upload = await beginUpload(client, path, {name: file.name, size: file.bytes, slot})
    await remember(upload.id)
  }
  const fileHandle = await open(file.path, 'r')
  const sendPart = async (part: Part) => {
    await session.keepFresh()
    return putPart(sending, fileHandle, part)
  }
  const onWhole = () => assertUntouched(fileHandle, file)
  try {
    return await sendUpload(
      {client, path, sendPart, onSent, onWhole, signal},
      {...upload, partBytes: Math.min(mostPartBytes, upload.partBytes)},
    )
  } catch (error) {
    throw signal.aborted || !isPassing(error) ? error : brokeOff(error)
  } finally {
    await fileHandle.close()
  }
}

/** Returns the upload that an earlier command started, or null if it no longer exists or has another size than the file. */
const findStartedUpload = async ({session, begun, file}: SendFileInput, path: string): Promise<Upload | null> => {
  if (begun === null) return null
  try {
    const {upload} = await session.client.get(`${path}/${begun}`)
    return upload.size === file.bytes ? upload : null
  } catch (error) {
    if (error instanceof ApiError && error.code === 'UPLOAD_NOT_FOUND') return null
    throw error
  }
}

const putPart = async ({session, onSent, signal}: SendFileInput, fileHandle: FileHandle, {at, offset, bytes}: Part): Promise<Upload> => {
  const part = Buffer.alloc(bytes)
  const {bytesRead} = await fileHandle.read(part, 0, bytes, offset)
  if (bytesRead < bytes) throw badFile('The file became shorter during the upload', 'Run the command again when the file no longer changes')
  const digest = createHash('sha256').update(part).digest('base64')
  const stalled = new AbortController()
  const watch = setInterval(() => stalled.abort(new Unreachable(`The upload stalled for ${stallMs / 1000} seconds`)), stallMs)
  const body = streamOf(part, sent => {
    watch.refresh()
    onSent(offset + sent)
  })
  try {
    const headers = {'content-type': 'application/octet-stream', 'content-digest': `sha-256=:${digest}:`}
    const sent = {body, headers, signal: AbortSignal.any([stalled.signal, signal]), timeoutMs: Infinity}
    return (await session.client.call('PUT', at, sent)).body.upload
  } finally {
    clearInterval(watch)
  }
}

/** Converts a part to a stream of chunks, so that its progress can be reported. */
const streamOf = (part: Buffer, onSent: (bytes: number) => void) => {
  let at = 0
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      if (at >= part.length) return controller.close()
      controller.enqueue(part.subarray(at, at + chunkBytes))
      at = Math.min(part.length, at + chunkBytes)
      onSent(at)
    },
  })
}

const assertUntouched = async (fileHandle: FileHandle, {bytes, modifiedMs, path}: LocalFile) => {
  const now = await fileHandle.stat()
  if (now.size === bytes && Math.floor(now.ctimeMs) === modifiedMs) return
  throw badFile(`${path} changed during the upload`, 'Nothing was imported. Run the command again when the file no longer changes')
}

const brokeOff = (error: unknown) => {
  const {message, exit, code} = failureOf(error)
  const next = 'Uploaded parts are kept for a day. Run the same command again to resume'
  return new Failure(`The upload failed: ${message}`, {exit: exit === EXIT.refused ? EXIT.unreachable : exit, code, next})
}
