import {createCipheriv, createDecipheriv, randomBytes} from 'node:crypto'

/**
 * The keys for secrets. The first key seals, and every key opens. A rotation adds the new key in front, and removes the old one after resealing.
 */
export type KeyRing = {id: string; key: Buffer}[]

const VERSION = 'v1'

/** Encrypts with AES-256-GCM to `v1.<keyId>.<iv>.<ciphertext+tag>`. `aad` names the owner of the secret: decryption needs the same value. */
export const seal = (ring: KeyRing, text: string, aad: string): string => {
  const {id, key} = firstOf(ring)
  const iv = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(aad))
  const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
  return [VERSION, id, iv.toString('base64url'), body.toString('base64url')].join('.')
}

/** Decrypts a sealed secret. Throws if the key is not in the ring, if the text was changed, or if `aad` differs. */
export const open = (ring: KeyRing, sealed: string, aad: string): string => {
  const {version, id, iv, body} = partsOf(sealed)
  const key = ring.find(one => one.id === id)?.key
  if (version !== VERSION || !iv || !body) throw new Error('Not a sealed secret')
  if (!key) throw new Error(`The key ${id} is not in SECRETS_KEYS, so its secrets cannot be decrypted`)
  const bytes = Buffer.from(body, 'base64url')
  // The decoder skips unknown characters, so the text is compared with its canonical form.
  if (bytes.toString('base64url') !== body) throw new Error('Not a sealed secret')
  const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(iv, 'base64url'), {authTagLength: 16})
  decipher.setAAD(Buffer.from(aad)).setAuthTag(bytes.subarray(-16))
  return Buffer.concat([decipher.update(bytes.subarray(0, -16)), decipher.final()]).toString('utf8')
}

/** Returns the prefix of every value that the first key sealed. */
export const sealedUnder = (ring: KeyRing): string => `${VERSION}.${firstOf(ring).id}.`

/** Returns whether a key other than the first sealed the value, so that the value should be resealed. */
export const isOutdated = (ring: KeyRing, sealed: string): boolean => !sealed.startsWith(sealedUnder(ring))

/** Earlier builds accepted key ids with dots. Such an id is returned with hyphens, which is how SECRETS_KEYS must name the key now. */
const partsOf = (sealed: string) => {
  const [version, ...rest] = sealed.split('.')
  const [iv, body] = rest.splice(-2)
  return {version, id: rest.join('-'), iv, body}
}

const firstOf = (ring: KeyRing) => {
  const [first] = ring
  if (!first) throw new Error('The key ring is empty')
  return first
}
