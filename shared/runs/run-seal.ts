import {createCipheriv, createDecipheriv, randomBytes} from 'node:crypto'
import type {Pool} from '../../sql/database.ts'
import type {RunKeys} from '../../sql/run-keys.ts'
import {resealEach} from '../security/reseal.ts'
import {type KeyRing, open, seal} from '../security/secrets.ts'

type RunRef = {no: number; id: string}
type KeyDeps = {db: Pool; ring: KeyRing}

export type RunSeal = {seal(packed: Buffer): Buffer; unseal(stored: Buffer): Buffer}

/**
 * Returns functions that create, find and reseal the key of a run. A `RunSeal` encrypts data of the run with this key, such as its before images or
 * its verify queue. The key itself is stored encrypted, and is bound to the run and to `use`, such as `verify`.
 */
export const openRunSeals = (keys: RunKeys, use: string) => {
  const sealedAs = (run: string) => `${run} ${use}`
  const keyIn = (ring: KeyRing, sealed: string, run: string) => Buffer.from(open(ring, sealed, sealedAs(run)), 'base64url')
  return {
    /** Creates the run's key if there is none. */
    async make({db, ring}: KeyDeps, run: RunRef): Promise<RunSeal> {
      const fresh = seal(ring, randomBytes(32).toString('base64url'), sealedAs(run.id))
      const sealed = (await keys.find(db, run.no)) ?? (await keys.keep(db, {run: run.no, sealed: fresh}))
      return sealWith(keyIn(ring, sealed, run.id), run.id)
    },

    /** Returns null if the run's key was deleted or never created. */
    async find({db, ring}: KeyDeps, run: RunRef): Promise<RunSeal | null> {
      const sealed = await keys.find(db, run.no)
      return sealed === null ? null : sealWith(keyIn(ring, sealed, run.id), run.id)
    },

    reseal: resealEach({
      what: 'run',
      list: keys.listSealedElse,
      idOf: ({id}) => id,
      reseal: ({db, ring}, {id, run, sealed}) =>
        keys.keepResealed(db, {run, before: sealed, after: seal(ring, open(ring, sealed, sealedAs(id)), sealedAs(id))}),
    }),
  }
}

const [ivBytes, tagBytes] = [12, 16]

const sealWith = (key: Buffer, run: string): RunSeal => ({
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
