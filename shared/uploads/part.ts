import {createHash, randomUUID} from 'node:crypto'
import type {Readable} from 'node:stream'
import {deleteLoose, insertLoose, nameLoose} from '../../sql/segments.ts'
import {findUpload, insertPart, type Upload} from '../../sql/uploads.ts'
import {Refusal} from '../errors.ts'
import {atPoint} from '../fault-point.ts'
import type {SourceTools} from '../sources/add.ts'
import {leastPartBytes, partBytes} from './describe.ts'
import {findImportUpload, type OfUpload, refuseGone} from './find.ts'

type Tools = Pick<SourceTools, 'db' | 'storage'>
/** `sha256`: what the sender says it comes to. */
type Sent = {offset: number; body: Readable; sha256?: Buffer | null}

/**
 * Keeps the bytes from `offset` on as an object of their own, whole or not at all. Answers what is kept by then, also where these bytes were
 * kept before: by whomever, the upload goes on where it says. The object's key is written down before it is stored, and named in
 * the transaction that moves the offset, so one that nobody comes to name is found.
 */
export const keepPart = async (tools: Tools, place: OfUpload, {offset, body, sha256 = null}: Sent): Promise<Upload> => {
  const {db} = tools
  const upload = await findImportUpload(db, place)
  if (offset > upload.kept) throw gapAfter(upload)
  if (offset < upload.kept || upload.kept === upload.bytes) return upload
  const key = `${place.org}/${place.importId}/${upload.id}-${offset}-${randomUUID()}`
  await insertLoose(db, key)
  // Where it cannot be given up either, the round finds it among the loose ones.
  const bytes = await tools.storage.put(key, measured(body, {sha256, left: upload.bytes - offset})).catch(async error => {
    body.resume()
    await giveUp(tools, key).catch(() => {})
    throw error
  })
  atPoint('after_part')
  // What fails here may have been committed all the same: the object stays, named or written down.
  const isKept = await db.transaction(async tx => {
    if (!(await insertPart(tx, {uploadNo: upload.no, at: offset, bytes, key}))) return false
    await nameLoose(tx, [key])
    return true
  })
  if (!isKept) await giveUp(tools, key).catch(() => {})
  return (await findUpload(db, {importNo: upload.importNo, id: upload.id})) ?? refuseGone()
}

const gapAfter = ({kept, bytes}: Upload) =>
  new Refusal('UPLOAD_OFFSET', `${kept} of ${bytes} bytes are kept: go on with the byte at offset ${kept}`, {offset: kept, size: bytes})

/** Where this fails too, the key is still written down, and whoever looks for loose objects removes it. */
const giveUp = async ({db, storage}: Tools, key: string) => {
  await storage.remove(key)
  await deleteLoose(db, [key])
}

async function* measured(body: Readable, {sha256, left}: {sha256: Buffer | null; left: number}) {
  const hash = sha256 && createHash('sha256')
  let bytes = 0
  for await (const chunk of unbroken(body)) {
    bytes += chunk.length
    if (bytes > partBytes) throw new Refusal('BODY_TOO_LARGE', `One part has at most ${partBytes} bytes: send the rest as the next`)
    if (bytes > left)
      throw new Refusal('INVALID', `Only ${left} bytes of the file are missing: it is larger than was said when it was begun`)
    hash?.update(chunk)
    yield chunk
  }
  if (bytes < Math.min(left, leastPartBytes))
    throw new Refusal('INVALID', `A part has at least ${leastPartBytes} bytes unless it is the file's last: this one has ${bytes}`)
  if (hash && !hash.digest().equals(sha256!))
    throw new Refusal('DIGEST_MISMATCH', 'The bytes that came do not have the sha-256 that was sent with them. Send the part again')
}

/** The connection stays open for the answer. */
async function* unbroken(body: Readable): AsyncGenerator<Uint8Array> {
  const chunks = body.iterator({destroyOnReturn: false})
  try {
    for (;;) {
      const next = await chunks.next().catch(() => {
        throw new Refusal('UPLOAD_BROKEN', 'The part broke off and was not kept: ask for the upload, and go on at its offset')
      })
      if (next.done) return
      yield next.value
    }
  } finally {
    await chunks.return?.()
  }
}
