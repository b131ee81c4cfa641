import {signal} from '@preact/signals'
import {ApiError, type Json} from '../../http.ts'
import type {Upload} from '../../send-file.ts'
import {client, inOrg} from '../state/session.ts'
import type {Reader} from './import.ts'
import {sendFile} from './send.ts'
import {sendByXhr} from './xhr.ts'

/**
 * A file on its way to the server. The upload continues while the person visits other pages. After a reload, only the parts on the server
 * remain.
 */
export type QueuedFile = {
  key: number
  importId: string
  file: File
  slot: string | undefined
  /** The reader options. Options that are left out are detected. */
  reader?: Partial<Reader> | undefined
  upload: Upload | undefined
  sent: number
  state: 'waiting' | 'sending' | 'reading' | 'paused' | 'failed'
  error: unknown
}

export const sendings = signal<QueuedFile[]>([])
const mostAtOnce = 2
let lastKey = 0
const stops = new Map<number, AbortController>()
type OnTaken = (answer: Json) => void
const taken = new Map<number, OnTaken>()
/** A promise for each file, which resolves when the last attempt to send the file has ended. */
const attempts = new Map<number, Promise<void>>()

const change = (key: number, changes: Partial<QueuedFile>) => {
  sendings.value = sendings.value.map(one => (one.key === key ? {...one, ...changes} : one))
}
const forget = (key: number) => {
  sendings.value = sendings.value.filter(one => one.key !== key)
  taken.delete(key)
  attempts.delete(key)
}

type Chosen = {importId: string; file: File; slot?: string | undefined; upload?: Upload | undefined}

/** Queues a file for upload; at most two files upload at a time. Calls `onTaken` when the server has read the file. */
export const addFile = ({importId, file, slot, upload}: Chosen, onTaken: OnTaken): void => {
  const key = ++lastKey
  const sent = upload?.offset ?? 0
  taken.set(key, onTaken)
  sendings.value = [...sendings.value, {key, importId, file, slot, upload, sent, state: 'waiting', error: null}]
  beginNext()
}

const isUnderWay = ({state}: QueuedFile) => state === 'sending' || state === 'reading'

const beginNext = () => {
  const free = mostAtOnce - sendings.value.filter(isUnderWay).length
  for (const waiting of sendings.value.filter(({state}) => state === 'waiting').slice(0, Math.max(0, free)))
    attempts.set(waiting.key, send(waiting))
}

const send = async ({key, importId, file, slot, reader, upload}: QueuedFile) => {
  const stop = new AbortController()
  stops.set(key, stop)
  change(key, {state: 'sending', error: null})
  try {
    const answered = await sendFile(
      {client, send: sendByXhr},
      {path: inOrg(`/imports/${importId}`), file, slot, reader, upload},
      {
        signal: stop.signal,
        onUpload: begun => change(key, {upload: begun}),
        onSent: sent => change(key, {sent}),
        onRead: () => change(key, {state: 'reading'}),
      },
    )
    const tell = taken.get(key)
    forget(key)
    tell?.(answered)
  } catch (error) {
    if (!stop.signal.aborted) change(key, {state: 'failed', error})
  } finally {
    if (stops.get(key) === stop) stops.delete(key)
    beginNext()
  }
}

/** Returns the server's upload of a paused file, if one was begun. Waits for the request that begins it, so that no second upload is begun. */
const findBegun = async ({key, upload}: QueuedFile): Promise<Upload | undefined> => {
  await attempts.get(key)
  return sendings.value.find(one => one.key === key)?.upload ?? upload
}

/** Pauses an upload. `resumeSending` first reads the stored offset from the server. */
export const pauseSending = (key: number): void => {
  stops.get(key)?.abort()
  change(key, {state: 'paused'})
}

export const resumeSending = async (one: QueuedFile): Promise<void> => {
  const begun = await findBegun(one)
  if (begun) {
    const {upload} = await client.get(inOrg(`/imports/${one.importId}/uploads/${begun.id}`))
    change(one.key, {upload, sent: upload.offset})
  }
  change(one.key, {state: 'waiting', error: null})
  beginNext()
}

/**
 * Retries a file that the server could not read, with other reader options. A small file is uploaded again, and the stored parts of a large one
 * are reused.
 */
export const sendAs = async (one: QueuedFile, reader: Partial<Reader>): Promise<void> => {
  change(one.key, {reader, state: 'reading', error: null})
  await resumeSending(one).catch(error => {
    change(one.key, {state: 'failed', error})
    beginNext()
  })
}

/** Cancels an upload and deletes its parts on the server. Until they are deleted, the upload stays listed as paused. */
export const cancelSending = async (one: QueuedFile): Promise<void> => {
  pauseSending(one.key)
  const begun = await findBegun(one)
  if (begun) await deleteUpload(one.importId, begun.id)
  forget(one.key)
  beginNext()
}

/** Deletes an unfinished upload. Succeeds too if the upload expired or was deleted elsewhere. */
export const deleteUpload = (importId: string, upload: string): Promise<unknown> =>
  client.delete(inOrg(`/imports/${importId}/uploads/${upload}`)).catch(error => {
    if (!(error instanceof ApiError && error.status === 404)) throw error
  })
