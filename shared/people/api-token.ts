import {createHash, randomBytes} from 'node:crypto'
import {crc32} from 'node:zlib'

const PREFIX = 'lading_'
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** What 256 bits need in base62, and 32 bits. */
const SECRET_LENGTH = 43
const CHECKSUM_LENGTH = 6
const SHAPE = new RegExp(`^${PREFIX}[0-9A-Za-z]{${SECRET_LENGTH + CHECKSUM_LENGTH}}$`)

/**
 * A new secret, shown once; `hash` is what is kept, `prefix` is how people tell their tokens apart. `start` tells kinds of secrets apart. `bits`: 32 bytes
 * that nobody can guess. */
export const mintSecret = (start = PREFIX, bits = randomBytes(32)) => {
  const body = base62(BigInt(`0x${bits.toString('hex')}`), SECRET_LENGTH)
  const secret = start + body + checksumOf(body)
  return {secret, hash: hashSecret(secret), prefix: secret.slice(0, start.length + 4)}
}

/** No slow hash: the secret is 256 random bits. Found by its hash, so no comparison's time tells anything of the secret. */
export const hashSecret = (secret: string): Buffer => createHash('sha256').update(secret).digest()

export const looksLikeSecret = (bearer: string): boolean => bearer.startsWith(PREFIX)

/** The checksum turns away typing errors, and lets scanners of leaked secrets tell ours from noise. */
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
