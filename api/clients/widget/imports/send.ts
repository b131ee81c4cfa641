import type {Client, Json} from '../../http.ts'
import type {Pause} from '../../pause.ts'
import {beginUpload, type Part, sendUpload, type Upload} from '../../send-file.ts'

/** Files past this are sent in parts, which can be paused and gone on with. */
export const smallBytes = 8 * 1024 ** 2

type Told = {signal: AbortSignal; onSent: (bytes: number) => void}
/** One request with a body that is sent: how much of it has gone is told meanwhile. */
export type Send = (method: string, path: string, body: Blob, told: Told) => Promise<Json>
type Means = {client: Client; send: Send; pause?: Pause}

/** `sheet`: the one of a workbook that is read. */
type Chosen = {path: string; file: File; slot?: string | undefined; sheet?: string | undefined; upload?: Upload | undefined}
type Telling = {signal: AbortSignal; onUpload: (upload: Upload) => void; onSent: (bytes: number) => void; onRead: () => void}

/** Sends a file to the import at `path` and answers `{source, filled?}`. What was begun as `upload` is gone on with. */
export const sendFile = async (
  {client, send, pause}: Means,
  {path, file, slot, sheet, upload}: Chosen,
  telling: Telling,
): Promise<Json> => {
  if (!upload && file.size <= smallBytes) return sendWhole(send, {path, file, slot, sheet}, telling)
  const {signal, onUpload, onSent, onRead} = telling
  const uploads = `${path}/uploads`
  const begun = upload ?? (await beginUpload(client, uploads, {name: file.name, size: file.size, slot}))
  onUpload(begun)
  const sendPart = async ({at, offset, bytes}: Part) =>
    (await send('PUT', at, file.slice(offset, offset + bytes), {signal, onSent: sent => onSent(offset + sent)})).upload
  return sendUpload({client, path: uploads, sheet, sendPart, onSent, onWhole: onRead, signal, ...(pause && {pause})}, begun)
}

const sendWhole = (send: Send, {path, file, slot, sheet}: Chosen, {signal, onSent, onRead}: Telling) => {
  const query = new URLSearchParams({name: file.name, ...(slot !== undefined && {slot}), ...(sheet !== undefined && {sheet})})
  const tell = (bytes: number) => {
    onSent(bytes)
    if (bytes >= file.size) onRead()
  }
  return send('POST', `${path}/sources?${query}`, file, {signal, onSent: tell})
}

/** Whether a file somebody chose is the one an unfinished upload was begun with, as far as that can be told. */
export const isSameFile = ({name, size}: Pick<Upload, 'name' | 'size'>, file: {name: string; size: number}): boolean =>
  name === file.name && size === file.size
