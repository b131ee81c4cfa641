import type {Client, Json} from '../../http.ts'
import type {Pause} from '../../pause.ts'
import {beginUpload, type Part, sendUpload, type Upload} from '../../send-file.ts'
import type {Reader} from './import.ts'

/** The largest file that is uploaded in one request. Larger files are uploaded in parts, which can be paused and resumed. */
export const smallBytes = 8 * 1024 ** 2

type SendCallbacks = {signal: AbortSignal; onSent: (bytes: number) => void}
export type Send = (method: string, path: string, body: Blob, told: SendCallbacks) => Promise<Json>
type Means = {client: Client; send: Send; pause?: Pause}

/** A file to upload. `path`: the API path of the import. Options that `reader` leaves out are detected. */
type Chosen = {
  path: string
  file: File
  slot?: string | undefined
  reader?: Partial<Reader> | undefined
  upload?: Upload | undefined
}
/** `onSent` receives the total of sent bytes. `onRead` is called when all bytes are sent and the server reads the file. */
type Telling = {signal: AbortSignal; onUpload: (upload: Upload) => void; onSent: (bytes: number) => void; onRead: () => void}

/** Uploads a file to the import at `path`, or resumes `upload`. Returns `{source, filled?}` when the server has read the file. */
export const sendFile = async (
  {client, send, pause}: Means,
  {path, file, slot, reader, upload}: Chosen,
  telling: Telling,
): Promise<Json> => {
  if (!upload && file.size <= smallBytes) return sendWhole(send, {path, file, slot, reader}, telling)
  const {signal, onUpload, onSent, onRead} = telling
  const uploads = `${path}/uploads`
  const begun = upload ?? (await beginUpload(client, uploads, {name: file.name, size: file.size, slot}))
  onUpload(begun)
  const sendPart = async ({at, offset, bytes}: Part) =>
    (await send('PUT', at, file.slice(offset, offset + bytes), {signal, onSent: sent => onSent(offset + sent)})).upload
  return sendUpload({client, path: uploads, reader, sendPart, onSent, onWhole: onRead, signal, ...(pause && {pause})}, begun)
}

const sendWhole = (send: Send, {path, file, slot, reader}: Chosen, {signal, onSent, onRead}: Telling) => {
  const query = new URLSearchParams({
    name: file.name,
    ...(slot !== undefined && {slot}),
    ...(reader && {reader: JSON.stringify(reader)}),
  })
  const tell = (bytes: number) => {
    onSent(bytes)
    if (bytes >= file.size) onRead()
  }
  return send('POST', `${path}/sources?${query}`, file, {signal, onSent: tell})
}

/** Whether a chosen file is probably the file of an unfinished upload, because name and size are equal. */
export const isSameFile = ({name, size}: Pick<Upload, 'name' | 'size'>, file: {name: string; size: number}): boolean =>
  name === file.name && size === file.size
