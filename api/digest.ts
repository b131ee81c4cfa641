import type {IncomingHttpHeaders} from 'node:http'
import {Refusal} from '../shared/errors.ts'

/**
 * Reads the SHA-256 digest of `Content-Digest` (RFC 9530). Returns null if the header is missing or has only other algorithms. Throws if the
 * digest is malformed.
 */
export const readDigest = ({'content-digest': header}: IncomingHttpHeaders): Buffer | null => {
  const entry = [header ?? []]
    .flat()
    .join(',')
    .split(',')
    .map(one => one.trim())
    .find(one => one.toLowerCase().startsWith('sha-256='))
  if (entry === undefined) return null
  const [, base64 = ''] = /^sha-256=:([A-Za-z0-9+/]{43}=):$/i.exec(entry) ?? []
  if (base64) return Buffer.from(base64, 'base64')
  throw new Refusal('INVALID', 'Content-Digest is malformed. Send sha-256=:<32 bytes in base64>:')
}
