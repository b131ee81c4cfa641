import {createCipheriv, createDecipheriv, randomBytes} from 'node:crypto'
import type {Pool} from '../../../sql/database.ts'
import {findImageKey, keepImageKey, keepResealedImageKey, listImageKeysSealedElse} from '../../../sql/image-keys.ts'
import {resealEach} from '../../security/reseal.ts'
import {type KeyRing, open, seal} from '../../security/secrets.ts'

type RunRef = {no: number; id: string}
type KeyDeps = {db: Pool; ring: KeyRing}

/** Seals and opens the objects that hold a run's before images. `aad` is fixed by the run. */
export type ImageSeal = {seal(packed: Buffer): Buffer; unseal(stored: Buffer): Buffer}

/** Opens the seal of a run that writes. Makes its key if there is none yet. */
export const makeImageSeal = async ({db, ring}: KeyDeps, run: RunRef): Promise<ImageSeal> => {
  const fresh = seal(ring, randomBytes(32).toString('base64url'), sealedAs(run.id))
  const sealed = (await findImageKey(db, run.no)) ?? (await keepImageKey(db, {run: run.no, sealed: fresh}))
  return sealWith(keyIn(ring, sealed, run.id), run.id)
}

/** Opens the seal of a run that is undone. Null if its key was deleted or never made, so that nothing can be read. */
export const findImageSeal = async ({db, ring}: KeyDeps, run: RunRef): Promise<ImageSeal | null> => {
  const sealed = await findImageKey(db, run.no)
  return sealed === null ? null : sealWith(keyIn(ring, sealed, run.id), run.id)
}

export const resealImageKeys = resealEach({
  what: 'run',
  list: listImageKeysSealedElse,
  idOf: ({id}) => id,
  reseal: ({db, ring}, {id, run, sealed}) =>
    keepResealedImageKey(db, {run, before: sealed, after: seal(ring, open(ring, sealed, sealedAs(id)), sealedAs(id))}),
})

/** Binds the sealed key to its run and its use. */
const sealedAs = (run: string) => `${run} images`

const keyIn = (ring: KeyRing, sealed: string, run: string) => Buffer.from(open(ring, sealed, sealedAs(run)), 'base64url')

const [ivBytes, tagBytes] = [12, 16]

const sealWith = (key: Buffer, run: string): ImageSeal => ({
  seal(packed) {
    const iv = randomBytes(ivBytes)
    const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(run))
    return Buffer.concat([iv, cipher.update(packed), cipher.final(), cipher.getAuthTag()])
  },
  unseal(stored) {
    const decipher = createDecipheriv('aes-256-gcm', key, stored.subarray(0, ivBytes), {authTagLength: tagBytes})
    decipher.setAAD(Buffer.from(run)).setAuthTag(stored.subarray(-tagBytes))
    return Buffer.concat([decipher.update(stored.subarray(ivBytes, -tagBytes)), decipher.final()])
  },
})
