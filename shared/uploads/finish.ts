import {Readable} from 'node:stream'
import type {Db, Tx} from '../../sql/database.ts'
import type {Source} from '../../sql/sources.ts'
import {listParts, finishUpload as markFinished, prolongUpload, settleUpload, type Upload} from '../../sql/uploads.ts'
import {Refusal} from '../errors.ts'
import type {ReaderOptions} from '../imports/reader.ts'
import type {SourceTools} from '../sources/add.ts'
import type {ReadSource} from '../sources/describe.ts'
import {findImportSource} from '../sources/find.ts'
import {type Filled, takeFile} from '../templates/fill.ts'
import {findImportUpload, type OfUpload, refuseGone} from './find.ts'

const partsPerLook = 100

type Finished = {source: ReadSource; filled: Filled | null}
/** Instead of what was said when it was begun: a file that could not be read so is not sent again for it. */
type Otherwise = {slot?: string | undefined; reader?: ReaderOptions | undefined}

const underWay = new Map<string, {how: string; finished: Promise<Finished>}>()

/**
 * Takes the file in as if it had come in one piece. Whoever finishes it again is answered the same: of several at once one makes the source,
 * and one that dies between source and slot is followed by the next who asks. A process reads a file through once at a time, however many ask.
 */
export const finishUpload = async (tools: SourceTools, place: OfUpload, otherwise: Otherwise = {}): Promise<Finished> => {
  const {org, importId, uploadId} = place
  const of = `${org}/${importId}/${uploadId}`
  const how = JSON.stringify(otherwise)
  const found = underWay.get(of)
  if (found?.how === how) return found.finished
  if (found)
    throw new Refusal('BUSY', 'This file is being finished otherwise just now: look at the upload, then ask again', {retryAfterMs: 5_000})
  const finished = finish(tools, place, otherwise)
  underWay.set(of, {how, finished})
  return finished.finally(() => underWay.delete(of))
}

const finish = async (tools: SourceTools, place: OfUpload, otherwise: Otherwise): Promise<Finished> => {
  const {db} = tools
  const upload = await findImportUpload(db, place)
  if (upload.kept < upload.bytes) throw incomplete(upload)
  if (upload.settled) return answerAgain(db, place, upload)
  await prolongUpload(db, upload.no)
  const taken = await take(tools, place, {...upload, ...stated(otherwise)}).catch(async error => {
    const wasFirst = upload.sourceId !== null || (await findImportUpload(db, place)).sourceId === null
    if (wasFirst) throw error
    return null
  })
  // Another was quicker.
  if (!taken) return finish(tools, place, otherwise)
  await settleUpload(db, {no: upload.no, filled: taken.filled})
  return taken
}

const stated = ({slot, reader}: Otherwise) => ({...(slot !== undefined && {slot}), ...(reader && {reader})})

const incomplete = ({kept, bytes}: Upload) =>
  new Refusal('UPLOAD_INCOMPLETE', `${kept} of ${bytes} bytes are kept: send the rest from offset ${kept} on`, {offset: kept, size: bytes})

const answerAgain = async (db: Db, {org, importId}: OfUpload, {sourceId, filled}: Upload): Promise<Finished> => {
  const {source} = await findImportSource(db, {org, importId, sourceId: sourceId!})
  return {source, filled: filled as Filled | null}
}

const take = async (tools: SourceTools, {org, importId}: OfUpload, upload: Upload): Promise<Finished> => {
  const {no, name, label, reader, slot, sourceId} = upload
  const place = {org, importId}
  if (sourceId !== null) return takeFile(tools, place, slot ?? undefined, {sourceId})
  const parts = openParts(tools, upload)
  const onSource = async (tx: Tx, {id: sourceId}: Source, slot: string | null) => {
    // Finished by another, or removed: whoever finishes looks again.
    if (!(await markFinished(tx, {no, sourceId, slot}))) refuseGone()
  }
  const given = {label: label ?? undefined, reader: (reader ?? undefined) as ReaderOptions | undefined}
  return takeFile(tools, place, slot ?? undefined, {name, ...given, body: parts.body, onSource}).catch(error => {
    // What a refused file has left is not read out of storage for nobody.
    parts.body.destroy()
    throw parts.failure ?? error
  })
}

/** The parts as one stream, one of them open at a time. `failure`: what the storage said, which is no fault of the file. */
const openParts = (tools: SourceTools, upload: Upload) => {
  const opened: {body: Readable; failure: unknown} = {body: Readable.from(read(), {objectMode: false}), failure: undefined}
  async function* read() {
    try {
      yield* readParts(tools, upload)
    } catch (error) {
      opened.failure = error
      throw error
    }
  }
  return opened
}

async function* readParts({db, storage}: SourceTools, {no: uploadNo, bytes}: Upload): AsyncGenerator<Uint8Array> {
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
