import {ApiError, type Json, Unreachable} from '../../http.ts'

/** Files past this are sent in parts, which can be paused and gone on with. */
export const smallBytes = 8 * 1024 ** 2

export type Upload = {id: string; name: string; slot: string | null; size: number; offset: number; partBytes: number; expiresAt: string}
type Told = {signal: AbortSignal; onSent: (bytes: number) => void}
/** One request with a body that is sent: how much of it has gone is told meanwhile. */
export type Send = (method: string, path: string, body: Blob, told: Told) => Promise<Json>
type Api = {
  send: Send
  post: (path: string, body: unknown) => Promise<Json>
  /** Waits before something is tried again; ends early with the signal. */
  pause: (ms: number, signal: AbortSignal) => Promise<void>
}

type File_ = {path: string; file: File; slot?: string | undefined; upload?: Upload | undefined}
type Telling = {signal: AbortSignal; onUpload: (upload: Upload) => void; onSent: (bytes: number) => void; onRead: () => void}

/** Sends a file to the import at `path` and answers `{source, filled?}`. What was begun as `upload` is gone on with. */
export const sendFile = async (api: Api, {path, file, slot, upload}: File_, telling: Telling): Promise<Json> => {
  if (!upload && file.size <= smallBytes) return sendWhole(api, {path, file, slot}, telling)
  const begun = upload ?? (await begin(api, {path, file, slot}))
  telling.onUpload(begun)
  await sendParts(api, {path: `${path}/uploads/${begun.id}`, file, from: begun}, telling)
  telling.onRead()
  return again(api, telling.signal, () => api.post(`${path}/uploads/${begun.id}/finish`, {}))
}

const sendWhole = (api: Api, {path, file, slot}: File_, {signal, onSent, onRead}: Telling) => {
  const query = new URLSearchParams({name: file.name, ...(slot !== undefined && {slot})})
  const tell = (bytes: number) => {
    onSent(bytes)
    if (bytes >= file.size) onRead()
  }
  return api.send('POST', `${path}/sources?${query}`, file, {signal, onSent: tell})
}

const begin = async (api: Api, {path, file, slot}: File_): Promise<Upload> =>
  (await api.post(`${path}/uploads`, {name: file.name, size: file.size, ...(slot !== undefined && {slot})})).upload

type Parts = {path: string; file: File; from: Upload}

/** Part after part. One that may be lost is sent again: the server says where to go on, and keeps none twice. */
const sendParts = async (api: Api, {path, file, from}: Parts, {signal, onSent}: Telling) => {
  let {offset} = from
  onSent(offset)
  while (offset < file.size) {
    const part = file.slice(offset, offset + from.partBytes)
    const begunAt = offset
    const told = {signal, onSent: (bytes: number) => onSent(begunAt + bytes)}
    const {upload} = await again(api, signal, () => api.send('PUT', `${path}/parts/${begunAt}`, part, told))
    if (upload.offset <= offset) throw new Error('The server has not kept what was sent. Try again')
    offset = upload.offset
    onSent(offset)
  }
}

const waitsMs = [1000, 2000, 5000, 10_000, 20_000, 30_000]

/** Does it, and tries again after a silence, a broken connection or a server that is busy: six times, a minute or so in all. */
const again = async (api: Api, signal: AbortSignal, work: () => Promise<Json>): Promise<Json> => {
  for (let tried = 0; ; tried++) {
    try {
      return await work()
    } catch (error) {
      const waitMs = waitsMs[tried]
      if (signal.aborted || waitMs === undefined || !isPassing(error)) throw error
      await api.pause(error instanceof ApiError ? Math.max(waitMs, error.retryAfterMs ?? 0) : waitMs, signal)
      signal.throwIfAborted()
    }
  }
}

const passing = ['UPLOAD_BROKEN', 'BUSY', 'REQUEST_TIMEOUT', 'MAINTENANCE']
const isPassing = (error: unknown) =>
  error instanceof Unreachable ||
  (error instanceof ApiError && (passing.includes(error.code) || error.status === 429 || error.status === 502 || error.status === 503))

/** Whether a file somebody chose is the one an unfinished upload was begun with, as far as that can be told. */
export const isSameFile = ({name, size}: Pick<Upload, 'name' | 'size'>, file: {name: string; size: number}): boolean =>
  name === file.name && size === file.size
