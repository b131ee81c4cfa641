import type {IncomingHttpHeaders} from 'node:http'
import {OAuthRefusal} from '../shared/oauth/refusal.ts'

/** As much as a form of OAuth may have; a code and a verifier are a few hundred. */
export const formBytes = 16 * 1024

/** The form of a body, each of its names once. */
export const readForm = (headers: IncomingHttpHeaders, body: Buffer): Record<string, string> => {
  const [type = ''] = (headers['content-type'] ?? '').split(';')
  if (type.trim().toLowerCase() !== 'application/x-www-form-urlencoded')
    throw new OAuthRefusal('invalid_request', 'Send a form as application/x-www-form-urlencoded')
  const pairs = [...new URLSearchParams(body.toString('utf8'))]
  if (new Set(pairs.map(([name]) => name)).size < pairs.length) throw new OAuthRefusal('invalid_request', 'A parameter is there twice')
  return Object.fromEntries(pairs.filter(([name, value]) => value !== '' && !value.includes('\0') && name !== '__proto__'))
}
