import type {IncomingHttpHeaders} from 'node:http'
import {OAuthRefusal} from './oauth/refusal.ts'

/** Limit for OAuth forms. A code and a verifier take a few hundred bytes. */
export const formBytes = 16 * 1024

/** Parses a form body. Refuses another content type and a repeated name. Omits empty values, values with a NUL, and the name `__proto__`. */
export const readForm = (headers: IncomingHttpHeaders, body: Buffer): Record<string, string> => {
  const [type = ''] = (headers['content-type'] ?? '').split(';')
  if (type.trim().toLowerCase() !== 'application/x-www-form-urlencoded')
    throw new OAuthRefusal('invalid_request', 'Send a form as application/x-www-form-urlencoded')
  const pairs = [...new URLSearchParams(body.toString('utf8'))]
  if (new Set(pairs.map(([name]) => name)).size < pairs.length)
    throw new OAuthRefusal('invalid_request', 'A parameter occurs twice. Send each parameter once')
  return Object.fromEntries(pairs.filter(([name, value]) => value !== '' && !value.includes('\0') && name !== '__proto__'))
}
