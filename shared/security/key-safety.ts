import type {KeyRing} from './secrets.ts'

/** The default for development. The key is public in this repository, so anyone can sign sessions with it. */
export const DEVELOPMENT_KEY = 'dev:bGFkaW5nLWRldmVsb3BtZW50LWtleS1vbmx5LTMyYnk='
export const DEVELOPMENT_CRM_SECRET = 'stand-in-secret'

type ExposureConfig = {
  NODE_ENV: string
  HOST: string
  PUBLIC_URL?: string | undefined
  SECRETS_KEYS: KeyRing
  SESSION_KEYS: KeyRing
  CRM_CLIENT_SECRET: string
  CRM_CLIENTS: Record<string, object>
  CRM_STANDIN_URL?: string | undefined
}

/**
 * Throws if a key is a development default or easy to guess, or if the CRM client secret in use is the development default. Does nothing unless the
 * process runs in production or other machines can reach it.
 */
export const assertKeysAreSafe = (config: ExposureConfig): void => {
  const reason = exposureOf(config)
  if (!reason) return
  const weak = (['SECRETS_KEYS', 'SESSION_KEYS'] as const).filter(name => config[name].some(({key}) => isKnown(key) || isGuessable(key)))
  const hasOwnClients = Object.keys(config.CRM_CLIENTS).length > 0
  if (config.CRM_CLIENT_SECRET === DEVELOPMENT_CRM_SECRET && !hasOwnClients && !config.CRM_STANDIN_URL)
    weak.push('CRM_CLIENT_SECRET' as never)
  if (weak.length)
    throw new Error(
      `Configuration: ${reason}, and ${weak.join(', ')} is a development default or easy to guess. Set your own; make keys with: openssl rand -base64 32`,
    )
}

export const assertHttps = ({NODE_ENV, PUBLIC_URL}: Pick<ExposureConfig, 'NODE_ENV' | 'PUBLIC_URL'>): void => {
  if (NODE_ENV === 'production' && !PUBLIC_URL?.startsWith('https://'))
    throw new Error(
      'Configuration: NODE_ENV is production, so PUBLIC_URL has to begin with https://. Set it to the address that browsers use',
    )
}

const exposureOf = ({NODE_ENV, HOST, PUBLIC_URL}: ExposureConfig): string | null => {
  if (NODE_ENV === 'production') return 'NODE_ENV is production'
  if (!isLoopback(HOST)) return `HOST is ${HOST}, which other machines reach`
  if (PUBLIC_URL && !isLoopback(new URL(PUBLIC_URL).hostname)) return `PUBLIC_URL is ${PUBLIC_URL}, which other machines reach`
  return null
}

const isLoopback = (host: string) => /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i.test(host)

const isKnown = (key: Buffer) => key.equals(Buffer.from(DEVELOPMENT_KEY.split(':')[1]!, 'base64'))

/**
 * Returns whether a key is easily guessed: it has fewer than 10 different bytes, or the same step between all bytes, as in 1, 2, 3. A random key
 * of 32 bytes has about 30 different bytes.
 */
const isGuessable = (key: Buffer) => {
  const steps = new Set(key.subarray(1).map((byte, at) => byte - key[at]!))
  return new Set(key).size < 10 || steps.size === 1
}
