import {createHash} from 'node:crypto'
import {type FileHandle, open} from 'node:fs/promises'
import {setTimeout as sleep} from 'node:timers/promises'
import {ApiError, type Json, Unreachable} from '../http.ts'
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
  signal?: AbortSignal
}

const usualPartBytes = 4 * 1024 ** 2
const chunkBytes = 128 * 1024
/** A connection over which nothing moves for so long is given up. */
const stallMs = 60_000
/** The whole file is read on the other side before it answers. */
const finishMs = 900_000
const pausesMs = [500, 1000, 2000, 4000, 8000, 15_000, 30_000]

/** Sends a file in parts, each tried again where that may help; answers its source, and what became of its slot. */
export const sendFile = async (sending: Sending): Promise<Json> => {
  const {session, importId, file, onSent} = sending
  const at = session.path(`imports/${importId}/uploads`)
  let upload = (await findBegun(sending, at)) ?? (await begin(sending, at))
  const opened = await open(file.path, 'r')
  try {
    onSent(upload.offset)
    let partBytes = Math.min(usualPartBytes, upload.partBytes)
    for (let failures = 0; upload.offset < upload.size; ) {
      const {offset} = upload
      try {
        await session.keepFresh()
        upload = await sendPart(sending, {
          opened,
          at: `${at}/${upload.id}/parts/${offset}`,
          offset,
          bytes: Math.min(partBytes, upload.size - offset),
        })
        failures = 0
        onSent(upload.offset)
      } catch (error) {
        await waitAfter(error, {failures: ++failures, sending})
        partBytes = upload.leastPartBytes
        upload = await stateOf(sending, `${at}/${upload.id}`, upload)
        onSent(upload.offset)
      }
    }
    await assertUntouched(opened, file)
  } finally {
    await opened.close()
  }
  return finish(sending, `${at}/${upload.id}/finish`)
}

/** Where an earlier command left off; null once the server has forgotten it, or where it is of another file. */
const findBegun = async ({session, begun, file}: Sending, at: string): Promise<Json> => {
  if (begun === null) return null
  try {
    const {upload} = await session.client.get(`${at}/${begun}`)
    return upload.size === file.bytes ? upload : null
  } catch (error) {
    if (error instanceof ApiError && error.code === 'UPLOAD_NOT_FOUND') return null
    throw error
  }
}

const begin = async ({session, file, slot, remember}: Sending, at: string): Promise<Json> => {
  const {upload} = await session.client.post(at, {name: file.name, size: file.bytes, ...(slot && {slot})})
  await remember(upload.id)
  return upload
}

type Part = {opened: FileHandle; at: string; offset: number; bytes: number}

const sendPart = async ({session, onSent, signal}: Sending, {opened, at, offset, bytes}: Part): Promise<Json> => {
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
  const limits = [stalled.signal, ...(signal ? [signal] : [])]
  try {
    const headers = {'content-type': 'application/octet-stream', 'content-digest': `sha-256=:${digest}:`}
    return (await session.client.call('PUT', at, {body, headers, signal: AbortSignal.any(limits), timeoutMs: Infinity})).body.upload
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

/** Throws what cannot be mended by sending it again, and what has been tried often enough. */
const waitAfter = async (error: unknown, {failures, sending: {signal}}: {failures: number; sending: Sending}) => {
  if (signal?.aborted) throw signal.reason
  const isForNow =
    error instanceof Unreachable ||
    (error instanceof ApiError &&
      (error.status >= 500 ||
        ['RATE_LIMITED', 'UPLOAD_BROKEN', 'UPLOAD_OFFSET', 'DIGEST_MISMATCH', 'REQUEST_TIMEOUT'].includes(error.code)))
  if (!isForNow) throw error
  if (failures > pausesMs.length) {
    const {message, exit, code} = failureOf(error)
    const next = 'What was sent is kept for a day: the same command goes on where it broke off'
    throw new Failure(`The upload broke off: ${message}`, {exit: exit === EXIT.refused ? EXIT.unreachable : exit, code, next})
  }
  const told = error instanceof ApiError ? error.retryAfterMs : null
  await sleep(Math.min(told ?? pausesMs[failures - 1]!, 60_000), undefined, signal && {signal}).catch(() => {
    throw signal!.reason
  })
}

/** What the server has by now; what it had, while it is away. */
const stateOf = async ({session, signal}: Sending, at: string, known: Json): Promise<Json> => {
  try {
    return (await session.client.get(at, undefined, signal)).upload
  } catch (error) {
    if (error instanceof ApiError && error.status < 500) throw error
    if (signal?.aborted) throw signal.reason
    return known
  }
}

/** The parts must be of one file. */
const assertUntouched = async (opened: FileHandle, {bytes, modifiedMs, path}: LocalFile) => {
  const now = await opened.stat()
  if (now.size === bytes && Math.floor(now.ctimeMs) === modifiedMs) return
  throw badFile(`${path} was changed while it was sent`, 'Nothing was imported. Run it again when nobody writes to it any more')
}

/** Asked again it answers the same, so a lost answer costs nothing. */
const finish = async ({session, signal}: Sending, at: string): Promise<Json> => {
  for (let failures = 0; ; ) {
    try {
      return (await session.client.call('POST', at, {body: {}, timeoutMs: finishMs, ...(signal && {signal})})).body
    } catch (error) {
      if (failures >= 3) throw error
      await waitAfter(error, {failures: ++failures, sending: {signal} as Sending})
    }
  }
}
