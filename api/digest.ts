import type {IncomingHttpHeaders} from 'node:http'
import {Refusal} from '../shared/errors.ts'

/** What `Content-Digest` (RFC 9530) says of the body in SHA-256; null where it says nothing, or only in other algorithms. */
export const readDigest = ({'content-digest': header}: IncomingHttpHeaders): Buffer | null => {
  const said = [header ?? []]
    .flat()
    .join(',')
    .split(',')
    .map(one => one.trim())
    .find(one => one.toLowerCase().startsWith('sha-256='))
  if (said === undefined) return null
  const [, base64 = ''] = /^sha-256=:([A-Za-z0-9+/]{43}=):$/i.exec(said) ?? []
  if (base64) return Buffer.from(base64, 'base64')
  throw new Refusal('INVALID', 'Content-Digest is sha-256=:<the 32 bytes in base64>:')
}
