import {createHash} from 'node:crypto'
import {type FileHandle, open} from 'node:fs/promises'
import {ApiError, type Json, Unreachable} from '../http.ts'
import {beginUpload, isPassing, type Part, sendUpload, type Upload} from '../send-file.ts'
import {EXIT} from './exit-codes.ts'
import {badFile, Failure, failureOf} from './failure.ts'
import type {LocalFile} from './inputs.ts'
import type {Session} from './session.ts'

/** What is being sent to an import. `begun`: the upload an earlier command began; `remember` is told of one before its first byte. */
type Sending = {
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
/** A connection over which nothing moves for so long is given up. */
const stallMs = 60_000

/** Sends a file in parts; answers its source, and what became of its slot. */
export const sendFile = async (sending: Sending): Promise<Json> => {
  const {session, importId, file, slot, remember, onSent, signal} = sending
  const {client} = session
  const path = session.path(`imports/${importId}/uploads`)
  let upload = await findBegun(sending, path)
  if (!upload) {
    upload = await beginUpload(client, path, {name: file.name, size: file.bytes, slot})
    await remember(upload.id)
  }
  const opened = await open(file.path, 'r')
  const sendPart = async (part: Part) => {
    await session.keepFresh()
    return putPart(sending, opened, part)
  }
  const onWhole = () => assertUntouched(opened, file)
  try {
    return await sendUpload(
      {client, path, sendPart, onSent, onWhole, signal},
      {...upload, partBytes: Math.min(mostPartBytes, upload.partBytes)},
    )
  } catch (error) {
    throw signal.aborted || !isPassing(error) ? error : brokeOff(error)
  } finally {
    await opened.close()
  }
}

/** Where an earlier command left off; null once the server has forgotten it, or where it is of another file. */
const findBegun = async ({session, begun, file}: Sending, path: string): Promise<Upload | null> => {
  if (begun === null) return null
  try {
    const {upload} = await session.client.get(`${path}/${begun}`)
    return upload.size === file.bytes ? upload : null
  } catch (error) {
    if (error instanceof ApiError && error.code === 'UPLOAD_NOT_FOUND') return null
    throw error
  }
}

const putPart = async ({session, onSent, signal}: Sending, opened: FileHandle, {at, offset, bytes}: Part): Promise<Upload> => {
  const part = Buffer.alloc(bytes)
  const {bytesRead} = await opened.read(part, 0, bytes, offset)
  if (bytesRead < bytes) throw badFile('The file has become shorter while it was sent', 'Run it again when nobody writes to it any more')
  const digest = createHash('sha256').update(part).digest('base64')
  const stalled = new AbortController()
  const watch = setInterval(() => stalled.abort(new Unreachable(`Nothing moved for ${stallMs / 1000} seconds`)), stallMs)
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

/** In pieces, so that it is seen how far it has got. */
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

/** The parts must be of one file. */
const assertUntouched = async (opened: FileHandle, {bytes, modifiedMs, path}: LocalFile) => {
  const now = await opened.stat()
  if (now.size === bytes && Math.floor(now.ctimeMs) === modifiedMs) return
  throw badFile(`${path} was changed while it was sent`, 'Nothing was imported. Run it again when nobody writes to it any more')
}

const brokeOff = (error: unknown) => {
  const {message, exit, code} = failureOf(error)
  const next = 'What was sent is kept for a day: the same command goes on where it broke off'
  return new Failure(`The upload broke off: ${message}`, {exit: exit === EXIT.refused ? EXIT.unreachable : exit, code, next})
}
