import {createHmac, randomBytes} from 'node:crypto'
import {type KeyRing, open, seal} from '../security/secrets.ts'

/** The prefix of a secret by Standard Webhooks 1.0.0 (https://www.standardwebhooks.com). Symmetric secrets have 24 to 64 bytes, in base64. */
const prefix = 'whsec_'
const secretBytes = 32

export const mintSecret = (): string => prefix + randomBytes(secretBytes).toString('base64')

export const sealSecret = (ring: KeyRing, endpoint: string, secret: string): string => seal(ring, secret, `webhook ${endpoint}`)
export const openSecret = (ring: KeyRing, endpoint: string, sealed: string): string => open(ring, sealed, `webhook ${endpoint}`)

type SignedBody = {id: string; seconds: number; body: string; secrets: readonly string[]}

/** While a secret is being replaced, both secrets sign, so that a receiver can verify with either. */
export const sign = ({id, seconds, body, secrets}: SignedBody): Record<string, string> => ({
  'webhook-id': id,
  'webhook-timestamp': String(seconds),
  'webhook-signature': secrets.map(secret => `v1,${mac(secret, `${id}.${seconds}.${body}`)}`).join(' '),
})

const mac = (secret: string, text: string) =>
  createHmac('sha256', Buffer.from(secret.slice(prefix.length), 'base64'))
    .update(text)
    .digest('base64')
