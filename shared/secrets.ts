import {createCipheriv, createDecipheriv, randomBytes} from 'node:crypto'

/** The first key seals; every key opens what it once sealed, so a new key is put in front and an old one leaves last. */
export type KeyRing = {id: string; key: Buffer}[]

const VERSION = 'v1'

/** AES-256-GCM as `v1.<keyId>.<iv>.<ciphertext+tag>`. `aad` is where the secret belongs: elsewhere it does not open. */
export const seal = (ring: KeyRing, text: string, aad: string): string => {
  const {id, key} = firstOf(ring)
  const iv = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(aad))
  const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
  return [VERSION, id, iv.toString('base64url'), body.toString('base64url')].join('.')
}

/** Throws when the key has left the ring, or the text was changed, or it was sealed for another place. */
export const open = (ring: KeyRing, sealed: string, aad: string): string => {
  const [version, id, iv, body] = sealed.split('.')
  const key = ring.find(one => one.id === id)?.key
  if (version !== VERSION || !iv || !body) throw new Error('Not a sealed secret')
  if (!key) throw new Error(`The key ${id} is not in SECRETS_KEYS any more: what it sealed cannot be opened`)
  const bytes = Buffer.from(body, 'base64url')
  // The decoder skips what it does not know.
  if (bytes.toString('base64url') !== body) throw new Error('Not a sealed secret')
  const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(iv, 'base64url'), {authTagLength: 16})
  decipher.setAAD(Buffer.from(aad)).setAuthTag(bytes.subarray(-16))
  return Buffer.concat([decipher.update(bytes.subarray(0, -16)), decipher.final()]).toString('utf8')
}

/** How everything begins that the first key sealed. */
export const sealedUnder = (ring: KeyRing): string => `${VERSION}.${firstOf(ring).id}.`

/** Sealed under a key that is no longer the first: seal again when it is next used. */
export const isOutdated = (ring: KeyRing, sealed: string): boolean => sealed.split('.')[1] !== firstOf(ring).id

const firstOf = (ring: KeyRing) => {
  const [first] = ring
  if (!first) throw new Error('The key ring is empty')
  return first
}
