import type {IncomingHttpHeaders} from 'node:http'
import {listOrigins} from '../../shared/accounts/origins.ts'
import type {Config} from '../../shared/config.ts'
import {Refusal} from '../../shared/errors.ts'
import {resourceMetadataOf, resourceOf, scope} from '../oauth/metadata.ts'

type McpGuardConfig = Pick<Config, 'PUBLIC_URL' | 'RETURN_ORIGINS' | 'NODE_ENV' | 'TRUSTED_PROXIES'>

/**
 * Checks the Host and Origin headers. An attack by DNS rebinding sends a foreign Host; programs other than browsers send no Origin. Outside
 * production, every loopback port is accepted.
 */
export const guardMcp = (config: McpGuardConfig, headers: IncomingHttpHeaders): void => {
  const {origin} = headers
  const host = hostOf(config, headers)
  const isOurs = isDeveloped(config) ? isLoopback : () => false
  if (!isHost(host, new URL(resourceOf(config)).host) && !isOurs(`http://${host}`))
    throw new Refusal('HOST_NOT_ALLOWED', 'This host name is not allowed. The operator sets the host name in PUBLIC_URL')
  if (origin !== undefined && !listOrigins(config).includes(origin) && !isOurs(origin))
    throw new Refusal('ORIGIN_NOT_ALLOWED', 'This origin is not allowed. The operator lists allowed origins in RETURN_ORIGINS')
}

/** Returns the challenge that leads a client to the authorisation server (RFC 9728, section 5.1). */
export const challengeOf = (config: Pick<Config, 'PUBLIC_URL'>): string =>
  `Bearer error="invalid_token", scope="${scope}", resource_metadata="${resourceMetadataOf(config)}"`

/**
 * Returns the host that the client requested. A trusted proxy may change Host and put the original into X-Forwarded-Host. Only the last
 * TRUSTED_PROXIES entries of that header are trusted.
 */
const hostOf = ({TRUSTED_PROXIES}: Pick<Config, 'TRUSTED_PROXIES'>, {host, 'x-forwarded-host': forwarded}: IncomingHttpHeaders) => {
  const names = forwarded === undefined || TRUSTED_PROXIES === 0 ? [] : String(forwarded).split(',').slice(-TRUSTED_PROXIES)
  return names[0]?.trim() || host
}

const isDeveloped = ({NODE_ENV}: Pick<Config, 'NODE_ENV'>) => NODE_ENV !== 'production'

/** Compares a requested host with ours. Behind a proxy the default port may be present or absent. */
const isHost = (given: string | undefined, ours: string) => given?.toLowerCase().replace(/:(80|443)$/, '') === ours

const isLoopback = (origin: string) => /^https?:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/i.test(origin)
