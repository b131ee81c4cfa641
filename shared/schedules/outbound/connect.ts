import {lookup} from 'node:dns/promises'
import {connect as connectTcp, isIP, type LookupFunction, type Socket} from 'node:net'
import {connect as connectTls} from 'node:tls'
import {startClock} from '../../crm/deadline.ts'
import {isPublic, sameAddress} from './address.ts'
import {OutboundFailure} from './failure.ts'
import {isPrivateHost, placeOf} from './hosts.ts'

/** Returns all addresses of a host name. If there are none, throws or returns an empty list. */
export type Resolve = (host: string) => Promise<string[]>
export type OutboundPlace = {host: string; port: number; signal?: AbortSignal | undefined}
/** The limits of a call. `org`: the org that makes the call. A private host that the operator lists for one org stays blocked for all others. */
export type Guard = {privateHosts: string[]; org?: string | null | undefined; resolve?: Resolve; ca?: string | undefined}

/** The time-out for name lookup, connection and TLS together. */
const connectSeconds = 10
/** The time-out for a name lookup alone, while a user waits. */
const resolveSeconds = 3
/** After this time, the next address is tried. The last address has no such limit. */
const perAddressMs = 2_000

/**
 * Connects to a verified address instead of a name. The name is resolved once. If any of its addresses is not public, the call is refused,
 * unless the operator lists host and port in PRIVATE_HOSTS. The remote address of the socket must be one of the resolved addresses.
 */
export const connectGuarded = async (guard: Guard, {host, port, signal}: OutboundPlace): Promise<Socket> => {
  const clock = startClock(connectSeconds, signal)
  try {
    return await open(await resolveChecked(guard, {host, port, signal: clock.signal}), {host, port, signal: clock.signal})
  } catch (error) {
    throw outboundFailureOf(error, {host, signal})
  } finally {
    clock.stop()
  }
}

/** Connects like `connectGuarded`, and then starts TLS. The server must show a certificate for the requested host. */
export const connectSecure = async (guard: Guard, {host, port, signal}: OutboundPlace): Promise<Socket> => {
  const clock = startClock(connectSeconds, signal)
  try {
    return await secure(guard, await connectGuarded(guard, {host, port, signal: clock.signal}), {host, port, signal: clock.signal})
  } catch (error) {
    throw outboundFailureOf(error, {host, signal})
  } finally {
    clock.stop()
  }
}

/**
 * Refuses a host that resolves to a non-public address, unless the operator lists host and port in PRIVATE_HOSTS. A name that does not resolve
 * now is accepted, because every connection checks its address again.
 */
export const assertPublicPlace = async (guard: Guard, {host, port}: Omit<OutboundPlace, 'signal'>): Promise<void> => {
  const clock = startClock(resolveSeconds, undefined)
  try {
    await resolveChecked(guard, {host, port, signal: clock.signal})
  } catch (error) {
    if (error instanceof OutboundFailure && error.code === 'ADDRESS_REFUSED') throw error
  } finally {
    clock.stop()
  }
}

const resolveChecked = async (
  {privateHosts, org = null, resolve = lookupAll}: Guard,
  {host, port, signal}: OutboundPlace,
): Promise<string[]> => {
  const addresses = isIP(host) ? [host] : await unless(signal, resolve(host))
  if (addresses.length === 0) throw new OutboundFailure('UNREACHABLE', `The name ${host} has no address`)
  if (isPrivateHost(privateHosts, placeOf(host, port), org) || addresses.every(isPublic)) return addresses
  throw new OutboundFailure(
    'ADDRESS_REFUSED',
    `${host} is not a public address. Ask the operator to add ${placeOf(host, port)} to PRIVATE_HOSTS if it is meant`,
  )
}

const lookupAll: Resolve = async host => (await lookup(host, {all: true})).map(({address}) => address)

/** Waits for a name lookup until the signal aborts. The operating system's lookup cannot be cancelled, so its late answer is ignored. */
const unless = <T>(signal: AbortSignal | undefined, found: Promise<T>): Promise<T> =>
  Promise.race([
    found,
    new Promise<never>((_, reject) => {
      if (signal?.aborted) reject(signal.reason)
      signal?.addEventListener('abort', () => reject(signal.reason), {once: true})
    }),
  ])

const open = (addresses: string[], {host, port, signal}: OutboundPlace): Promise<Socket> => {
  const pinned: LookupFunction = (_, __, done) =>
    done(
      null,
      addresses.map(address => ({address, family: isIP(address)})),
    )
  const socket = connectTcp({
    host,
    port,
    lookup: pinned,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: perAddressMs,
    noDelay: true,
    keepAlive: true,
  })
  return settled(socket, 'connect', signal, () => {
    const {remoteAddress = ''} = socket
    if (!addresses.some(address => sameAddress(address, remoteAddress)))
      throw new OutboundFailure('ADDRESS_REFUSED', `The connection to ${host} reached another address than the verified one`)
  })
}

const secure = ({ca}: Guard, socket: Socket, {host, signal}: OutboundPlace): Promise<Socket> =>
  settled(
    connectTls({
      socket,
      host,
      rejectUnauthorized: true,
      ALPNProtocols: ['http/1.1'],
      ...(!isIP(host) && {servername: host}),
      ...(ca !== undefined && {ca}),
    }),
    'secureConnect',
    signal,
  )

const settled = <S extends Socket>(socket: S, ready: string, signal: AbortSignal | undefined, check = () => {}): Promise<S> =>
  new Promise((resolve, reject) => {
    const end = (error?: unknown) => {
      signal?.removeEventListener('abort', abort)
      socket.off('error', end)
      // A destroyed socket may still emit an error, which would end the process.
      socket.on('error', () => {})
      if (error === undefined) return resolve(socket)
      socket.destroy()
      reject(error)
    }
    const abort = () => end(signal?.reason)
    socket.once('error', end).once(ready, () => {
      try {
        check()
        end()
      } catch (error) {
        end(error)
      }
    })
    if (signal?.aborted) abort()
    else signal?.addEventListener('abort', abort, {once: true})
  })

const outboundFailureOf = (error: unknown, {host, signal}: Pick<OutboundPlace, 'host' | 'signal'>): unknown => {
  if (error instanceof OutboundFailure) return error
  if (signal?.aborted) return signal.reason
  const {name, code = name} = error as Error & {code?: string}
  if (name === 'TimeoutError')
    return new OutboundFailure('TIMED_OUT', `No connection to ${host} within ${connectSeconds} s`, {cause: error})
  if (code === 'ENOTFOUND') return new OutboundFailure('UNREACHABLE', `The name ${host} is unknown. Check its spelling`, {cause: error})
  const tls = /CERT|TLS|SSL|SIGNATURE|VERIFY/.test(code) && `${host} has no trusted certificate (${code})`
  return new OutboundFailure('UNREACHABLE', tls || `The connection to ${host} failed (${code})`, {cause: error})
}
