import {createHash, randomUUID} from 'node:crypto'
import type {Readable} from 'node:stream'
import {deleteLoose, insertLoose, nameLoose} from '../../../sql/segments.ts'
import {findUpload, insertPart, type UploadRow} from '../../../sql/uploads.ts'
import {Refusal} from '../../errors.ts'
import {atPoint} from '../../fault-point.ts'
import type {SourceDeps} from '../sources/add.ts'
import {leastPartBytes, partBytes} from './describe.ts'
import {findImportUpload, type OfUpload, refuseGone} from './find.ts'

type PartDeps = Pick<SourceDeps, 'db' | 'storage'>
/** `sha256`: the digest that the sender states. */
type SentPart = {offset: number; body: Readable; sha256?: Buffer | null}

/**
 * Stores the bytes from `offset` as one object, completely or not at all. Returns the upload's state, also if the bytes were stored before. The
 * object key is recorded as unassigned before the object is stored. The transaction that moves the offset assigns the key. A periodic task removes
 * objects whose key stays unassigned.
 */
export const keepPart = async (deps: PartDeps, place: OfUpload, {offset, body, sha256 = null}: SentPart): Promise<UploadRow> => {
  const {db} = deps
  const upload = await findImportUpload(db, place)
  if (offset > upload.kept) throw gapAfter(upload)
  if (offset < upload.kept || upload.kept === upload.bytes) return upload
  const key = `${place.org}/${place.importId}/${upload.id}-${offset}-${randomUUID()}`
  await insertLoose(db, key)
  const bytes = await deps.storage.put(key, measured(body, {sha256, left: upload.bytes - offset})).catch(async error => {
    body.resume()
    await giveUp(deps, key).catch(() => {})
    throw error
  })
  atPoint('after_part')
  // If this transaction throws, it may have been committed, so the object is kept. If it was rolled back, the periodic task removes the object.
  const isKept = await db.transaction(async tx => {
    if (!(await insertPart(tx, {uploadNo: upload.no, at: offset, bytes, key}))) return false
    await nameLoose(tx, [key])
    return true
  })
  if (!isKept) await giveUp(deps, key).catch(() => {})
  return (await findUpload(db, {importNo: upload.importNo, id: upload.id})) ?? refuseGone()
}

const gapAfter = ({kept, bytes}: UploadRow) =>
  new Refusal('UPLOAD_OFFSET', `${kept} of ${bytes} bytes have been received. Continue at offset ${kept}`, {offset: kept, size: bytes})

/** Removes the object and its key. If this fails, the key stays recorded, and the periodic task removes the object. */
const giveUp = async ({db, storage}: PartDeps, key: string) => {
  await storage.remove(key)
  await deleteLoose(db, [key])
}

async function* measured(body: Readable, {sha256, left}: {sha256: Buffer | null; left: number}) {
  const hash = sha256 && createHash('sha256')
  let bytes = 0
  for await (const chunk of unbroken(body)) {
    bytes += chunk.length
    if (bytes > partBytes) throw new Refusal('BODY_TOO_LARGE', `A part has at most ${partBytes} bytes. Send the rest as the next part`)
    if (bytes > left)
      throw new Refusal('INVALID', `The part is longer than the ${left} bytes that are missing. Begin a new upload with the correct size`)
    hash?.update(chunk)
    yield chunk
  }
  if (bytes < Math.min(left, leastPartBytes))
    throw new Refusal(
      'INVALID',
      `The part has ${bytes} bytes. Send at least ${leastPartBytes} bytes, unless it is the last part of the file`,
    )
  if (hash && !hash.digest().equals(sha256!))
    throw new Refusal('DIGEST_MISMATCH', 'The received bytes do not match the sha-256 that was sent with them. Send the part again')
}

/** Yields the body without closing the connection, because the answer needs the connection. */
async function* unbroken(body: Readable): AsyncGenerator<Uint8Array> {
  const chunks = body.iterator({destroyOnReturn: false})
  try {
    for (;;) {
      const next = await chunks.next().catch(() => {
        throw new Refusal('UPLOAD_BROKEN', 'The part was interrupted and was not stored. Read the upload and continue at its offset')
      })
      if (next.done) return
      yield next.value
    }
  } finally {
    await chunks.return?.()
  }
}
