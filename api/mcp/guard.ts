import type {IncomingHttpHeaders} from 'node:http'
import type {Config} from '../../shared/config.ts'
import {Refusal} from '../../shared/errors.ts'
import {resourceMetadataOf, resourceOf, scope} from '../../shared/oauth/metadata.ts'
import {listOrigins} from '../../shared/people/origins.ts'

type Place = Pick<Config, 'PUBLIC_URL' | 'RETURN_ORIGINS' | 'NODE_ENV' | 'TRUSTED_PROXIES'>

/**
 * Under which names this may be asked for, and from which pages. A page that made its own name lead to us (DNS rebinding) brings that name;
 * programs that are no browser bring no origin at all. On a developer's machine every port of it is us.
 */
export const guardMcp = (config: Place, headers: IncomingHttpHeaders): void => {
  const {origin} = headers
  const host = hostOf(config, headers)
  const isOurs = isDeveloped(config) ? isLoopback : () => false
  if (!isHost(host, new URL(resourceOf(config)).host) && !isOurs(`http://${host}`))
    throw new Refusal('HOST_NOT_ALLOWED', 'This service is not known under that name: the operator sets it by PUBLIC_URL')
  if (origin !== undefined && !listOrigins(config).includes(origin) && !isOurs(origin))
    throw new Refusal('ORIGIN_NOT_ALLOWED', 'Pages of this origin may not call it: the operator lists them in RETURN_ORIGINS')
}

/** Where a client without a bearer learns who gives it one (RFC 9728, part 5.1). */
export const challengeOf = (config: Pick<Config, 'PUBLIC_URL'>): string =>
  `Bearer error="invalid_token", scope="${scope}", resource_metadata="${resourceMetadataOf(config)}"`

/** A proxy of ours may ask under a name of its own, and says which one it was asked under: the last so many names are theirs, not the client's. */
const hostOf = ({TRUSTED_PROXIES}: Pick<Config, 'TRUSTED_PROXIES'>, {host, 'x-forwarded-host': forwarded}: IncomingHttpHeaders) => {
  const names = forwarded === undefined || TRUSTED_PROXIES === 0 ? [] : String(forwarded).split(',').slice(-TRUSTED_PROXIES)
  return names[0]?.trim() || host
}

const isDeveloped = ({NODE_ENV}: Pick<Config, 'NODE_ENV'>) => NODE_ENV !== 'production'

/** Behind a proxy of ours the usual port may be written or not. */
const isHost = (given: string | undefined, ours: string) => given?.toLowerCase().replace(/:(80|443)$/, '') === ours

const isLoopback = (origin: string) => /^https?:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/i.test(origin)
