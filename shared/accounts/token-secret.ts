import {createHash, randomBytes} from 'node:crypto'
import {crc32} from 'node:zlib'

const PREFIX = 'lading_'
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** The number of base62 digits that encode 256 random bits. */
const SECRET_LENGTH = 43
/** The number of base62 digits that encode a checksum of 32 bits. */
const CHECKSUM_LENGTH = 6
const SHAPE = new RegExp(`^${PREFIX}[0-9A-Za-z]{${SECRET_LENGTH + CHECKSUM_LENGTH}}$`)

/**
 * Creates a secret. Only `hash` and `prefix` are stored, so the caller shows the secret once. Users recognise the secret in lists by `prefix`.
 * `start` is the first part of the secret; each kind of token has its own.
 */
export const mintSecret = (start = PREFIX, bits = randomBytes(32)) => {
  const body = base62(BigInt(`0x${bits.toString('hex')}`), SECRET_LENGTH)
  const secret = start + body + checksumOf(body)
  return {secret, hash: hashSecret(secret), prefix: secret.slice(0, start.length + 4)}
}

/** Hashes a secret for storage and lookup. A fast hash suffices for 256 random bits. A lookup by hash reveals nothing by its response time. */
export const hashSecret = (secret: string): Buffer => createHash('sha256').update(secret).digest()

export const looksLikeSecret = (bearer: string): boolean => bearer.startsWith(PREFIX)

/**
 * Returns whether a text has the form and the checksum of an API token. The checksum rejects typing errors and lets secret scanners recognise a
 * secret of this service.
 */
export const isWellFormed = (secret: string): boolean => {
  if (!SHAPE.test(secret)) return false
  const body = secret.slice(PREFIX.length, -CHECKSUM_LENGTH)
  return checksumOf(body) === secret.slice(-CHECKSUM_LENGTH)
}

const checksumOf = (body: string) => base62(BigInt(crc32(body)), CHECKSUM_LENGTH)

const base62 = (value: bigint, length: number) => {
  let text = ''
  for (let rest = value; rest > 0n; rest /= 62n) text = ALPHABET[Number(rest % 62n)] + text
  return text.padStart(length, '0')
}
