import {Readable} from 'node:stream'
import type {Db, Tx} from '../../../sql/database.ts'
import type {Source} from '../../../sql/sources.ts'
import {listParts, finishUpload as markFinished, prolongUpload, settleUpload, type UploadRow} from '../../../sql/uploads.ts'
import {Refusal} from '../../errors.ts'
import {addFile, type FilledSlot} from '../../mapping/templates/fill-slots.ts'
import type {ReaderOptions} from '../reader.ts'
import type {SourceDeps} from '../sources/add.ts'
import type {ReadSource} from '../sources/describe.ts'
import {findImportSource} from '../sources/find.ts'
import {findImportUpload, type OfUpload, refuseGone} from './find.ts'

const partsPerLook = 100

type FinishedUpload = {source: ReadSource; filled: FilledSlot | null}
/** Options that replace the options of the begun upload. With them, a file that could not be read need not be sent again. */
type Otherwise = {slot?: string | undefined; reader?: ReaderOptions | undefined}

const underWay = new Map<string, {how: string; finished: Promise<FinishedUpload>}>()

/**
 * Ingests the uploaded parts like a file sent in one request. Concurrent requests with equal options create one source and get the same answer. A
 * request with other options gets BUSY while this process finishes the upload. If a process dies before the template slot is filled, the next request
 * fills it.
 */
export const finishUpload = async (deps: SourceDeps, place: OfUpload, otherwise: Otherwise = {}): Promise<FinishedUpload> => {
  const {org, importId, uploadId} = place
  const of = `${org}/${importId}/${uploadId}`
  const how = JSON.stringify(otherwise)
  const found = underWay.get(of)
  if (found?.how === how) return found.finished
  if (found)
    throw new Refusal('BUSY', 'Another request is finishing this upload with other options. Read the upload, then try again', {
      retryAfterMs: 5_000,
    })
  const finished = finish(deps, place, otherwise)
  underWay.set(of, {how, finished})
  return finished.finally(() => underWay.delete(of))
}

const finish = async (deps: SourceDeps, place: OfUpload, otherwise: Otherwise): Promise<FinishedUpload> => {
  const {db} = deps
  const upload = await findImportUpload(db, place)
  if (upload.kept < upload.bytes) throw incomplete(upload)
  if (upload.settled) return answerAgain(db, place, upload)
  await prolongUpload(db, upload.no)
  const taken = await lockFinished(deps, place, {...upload, ...stated(otherwise)}).catch(async error => {
    const wasFirst = upload.sourceId !== null || (await findImportUpload(db, place)).sourceId === null
    if (wasFirst) throw error
    return null
  })
  // Another request created the source first.
  if (!taken) return finish(deps, place, otherwise)
  await settleUpload(db, {no: upload.no, filled: taken.filled})
  return taken
}

const stated = ({slot, reader}: Otherwise) => ({...(slot !== undefined && {slot}), ...(reader && {reader})})

const incomplete = ({kept, bytes}: UploadRow) =>
  new Refusal('UPLOAD_INCOMPLETE', `${kept} of ${bytes} bytes have been received. Send the rest from offset ${kept}`, {
    offset: kept,
    size: bytes,
  })

const answerAgain = async (db: Db, {org, importId}: OfUpload, {sourceId, filled}: UploadRow): Promise<FinishedUpload> => {
  const {source} = await findImportSource(db, {org, importId, sourceId: sourceId!})
  return {source, filled: filled as FilledSlot | null}
}

const lockFinished = async (deps: SourceDeps, {org, importId}: OfUpload, upload: UploadRow): Promise<FinishedUpload> => {
  const {no, name, label, reader, slot, sourceId} = upload
  const place = {org, importId}
  if (sourceId !== null) return addFile(deps, place, slot ?? undefined, {sourceId})
  const parts = openParts(deps, upload)
  const onSource = async (tx: Tx, {id: sourceId}: Source, slot: string | null) => {
    // Another request finished or removed the upload. The caller checks the upload again.
    if (!(await markFinished(tx, {no, sourceId, slot}))) refuseGone()
  }
  const given = {label: label ?? undefined, reader: (reader ?? undefined) as ReaderOptions | undefined}
  return addFile(deps, place, slot ?? undefined, {name, ...given, body: parts.body, onSource}).catch(error => {
    // Do not read the remaining parts of a refused file.
    parts.body.destroy()
    throw parts.failure ?? error
  })
}

/** Opens one part at a time. `failure`: an error of reading the parts from storage, which is not an error of the file. */
const openParts = (deps: SourceDeps, upload: UploadRow) => {
  const opened: {body: Readable; failure: unknown} = {body: Readable.from(read(), {objectMode: false}), failure: undefined}
  async function* read() {
    try {
      yield* readParts(deps, upload)
    } catch (error) {
      opened.failure = error
      throw error
    }
  }
  return opened
}

async function* readParts({db, storage}: SourceDeps, {no: uploadNo, bytes}: UploadRow): AsyncGenerator<Uint8Array> {
  let at = 0
  while (at < bytes) {
    const parts = await listParts(db, {uploadNo, from: at, limit: partsPerLook})
    if (parts.length === 0) throw new Error(`The parts of an upload end at ${at} of ${bytes} bytes`)
    for (const part of parts) {
      if (part.at !== at) throw new Error(`The parts of an upload have a gap at ${at}`)
      for await (const chunk of await storage.read(part.key)) {
        at += chunk.length
        yield chunk
      }
      if (at !== part.at + part.bytes) throw new Error(`A part of ${part.bytes} bytes has ${at - part.at} in storage`)
    }
  }
}
