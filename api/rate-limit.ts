import type {Middleware} from 'koa'
import {RateLimiterMemory, RateLimiterRes} from 'rate-limiter-flexible'
import type {Config} from '../shared/config.ts'
import {Refusal} from '../shared/errors.ts'
import type {Caller} from './access.ts'

export type RateLimits = {
  address(ip: string): Promise<void>
  /** Counts an unauthenticated request that stores a row, calls another server or starts a sign-in. */
  guest(ip: string): Promise<void>
  bearer(caller: Pick<Caller, 'session' | 'token' | 'grant' | 'embed'>): Promise<void>
}

const windowSeconds = 60
const guestShare = 1_000
const ofGuests = ['/auth/zoho/start', '/oauth/authorize', '/oauth/register']
const callbacks = '/bulk-callbacks/'

/**
 * Limits the requests per minute of each address and each bearer token; 0 disables a limit. The limit of `guest` is a thousandth of the limit of
 * addresses. Counters are in memory, so each API process counts separately.
 */
export const openRateLimits = ({RATE_PER_ADDRESS, RATE_PER_BEARER}: Pick<Config, 'RATE_PER_ADDRESS' | 'RATE_PER_BEARER'>): RateLimits => {
  const addresses = openCount(RATE_PER_ADDRESS, 'This address')
  const bearers = openCount(RATE_PER_BEARER, 'This token or session')
  const guests = openCount(Math.ceil(RATE_PER_ADDRESS / guestShare), 'This address')
  return {
    address: addresses,
    guest: guests,
    bearer: ({session, token, grant, embed}) => bearers(embed?.id ?? token ?? session ?? grant ?? ''),
  }
}

const openCount = (points: number, whose: string) => {
  if (points === 0) return async () => {}
  const count = new RateLimiterMemory({points, duration: windowSeconds})
  return async (key: string) => {
    try {
      await count.consume(key)
    } catch (over) {
      if (!(over instanceof RateLimiterRes)) throw over
      throw new Refusal('RATE_LIMITED', `${whose} made more than ${points} requests in a minute. Wait, then send fewer requests`, {
        retryAfterMs: over.msBeforeNext,
      })
    }
  }
}

/**
 * Returns the key under which an address is counted: the IPv4 address, or the /64 network of an IPv6 address, which usually belongs to one
 * customer.
 */
export const ownerOf = (ip: string): string => {
  if (!/^(?!::ffff:)[0-9a-f]*:[0-9a-f:]*(%.*)?$/i.test(ip)) return ip
  const [start = '', end] = ip.replace(/%.*$/, '').split('::')
  const groups = [start, end ?? ''].map(half => half.split(':').filter(group => group !== ''))
  const zeros = Array(Math.max(0, 8 - groups.flat().length)).fill('0')
  const half = [...groups[0]!, ...zeros, ...groups[1]!].slice(0, 4)
  return `${half.map(group => Number.parseInt(group, 16).toString(16)).join(':')}::/64`
}

/** Limits requests by address. It runs before authentication, so that guessing tokens is limited too. Health checks are not counted. */
export const limitAddresses =
  (limits: RateLimits): Middleware =>
  async (ctx, next) => {
    const owner = ownerOf(ctx.ip)
    if (ctx.path !== '/health') await limits.address(owner)
    if (ofGuests.includes(ctx.path) || ctx.path.startsWith(callbacks)) await limits.guest(owner)
    await next()
  }
