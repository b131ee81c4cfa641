import {lookup} from 'node:dns/promises'
import {connect as connectTcp, isIP, type LookupFunction, type Socket} from 'node:net'
import {connect as connectTls} from 'node:tls'
import {startClock} from '../crm/deadline.ts'
import {isPublic, sameAddress} from './address.ts'
import {OutboundFailure} from './failure.ts'
import {isPrivateHost, placeOf} from './hosts.ts'

/** Every address of a name. Throws where it has none. */
export type Resolve = (host: string) => Promise<string[]>
export type Place = {host: string; port: number; signal?: AbortSignal | undefined}
/** `org`: the org a call is made for. Places that the operator lists for one org are open to no other. */
export type Guard = {privateHosts: string[]; org?: string | null | undefined; resolve?: Resolve; ca?: string | undefined}

/** The name, the connection and TLS together. */
const connectSeconds = 10
/** A name alone, while a person waits. */
const resolveSeconds = 3
/** Before the next of several addresses is tried beside it. */
const perAddressMs = 2_000

/**
 * A connection to an address that was checked, not to a name: it is resolved once, refused when any of its addresses is not public (unless
 * the operator lists the place), and what the socket then says it is connected to must be one of them.
 */
export const connectGuarded = async (guard: Guard, {host, port, signal}: Place): Promise<Socket> => {
  const clock = startClock(connectSeconds, signal)
  try {
    return await open(await resolveChecked(guard, {host, port, signal: clock.signal}), {host, port, signal: clock.signal})
  } catch (error) {
    throw told(error, {host, signal})
  } finally {
    clock.stop()
  }
}

/** The same with TLS upon it, in which the other side shows a certificate for the host that was asked for. */
export const connectSecure = async (guard: Guard, {host, port, signal}: Place): Promise<Socket> => {
  const clock = startClock(connectSeconds, signal)
  try {
    return await secure(guard, await connectGuarded(guard, {host, port, signal: clock.signal}), {host, port, signal: clock.signal})
  } catch (error) {
    throw told(error, {host, signal})
  } finally {
    clock.stop()
  }
}

/**
 * Refuses a place whose name resolves to an address that is not public. A name that does not resolve now is accepted: every connection
 * checks its address again.
 */
export const assertPublicPlace = async (guard: Guard, {host, port}: Omit<Place, 'signal'>): Promise<void> => {
  const clock = startClock(resolveSeconds, undefined)
  try {
    await resolveChecked(guard, {host, port, signal: clock.signal})
  } catch (error) {
    if (error instanceof OutboundFailure && error.code === 'ADDRESS_REFUSED') throw error
  } finally {
    clock.stop()
  }
}

const resolveChecked = async ({privateHosts, org = null, resolve = lookupAll}: Guard, {host, port, signal}: Place): Promise<string[]> => {
  const addresses = isIP(host) ? [host] : await unless(signal, resolve(host))
  if (addresses.length === 0) throw new OutboundFailure('UNREACHABLE', `The name ${host} has no address`)
  if (isPrivateHost(privateHosts, placeOf(host, port), org) || addresses.every(isPublic)) return addresses
  throw new OutboundFailure(
    'ADDRESS_REFUSED',
    `${host} is not an address of the public internet: an operator may allow it by naming ${placeOf(host, port)} in PRIVATE_HOSTS`,
  )
}

const lookupAll: Resolve = async host => (await lookup(host, {all: true})).map(({address}) => address)

/** Names are resolved by the system, which takes its time and cannot be called off: its answer is then not waited for. */
const unless = <T>(signal: AbortSignal | undefined, found: Promise<T>): Promise<T> =>
  Promise.race([
    found,
    new Promise<never>((_, reject) => {
      if (signal?.aborted) reject(signal.reason)
      signal?.addEventListener('abort', () => reject(signal.reason), {once: true})
    }),
  ])

const open = (addresses: string[], {host, port, signal}: Place): Promise<Socket> => {
  const pinned: LookupFunction = (_, __, done) =>
    done(
      null,
      addresses.map(address => ({address, family: isIP(address)})),
    )
  const socket = connectTcp({
    ...{host, port, lookup: pinned, autoSelectFamily: true},
    ...{autoSelectFamilyAttemptTimeout: perAddressMs, noDelay: true, keepAlive: true},
  })
  return settled(socket, 'connect', signal, () => {
    const {remoteAddress = ''} = socket
    if (!addresses.some(address => sameAddress(address, remoteAddress)))
      throw new OutboundFailure('ADDRESS_REFUSED', `The connection to ${host} led to another address than it was opened to`)
  })
}

const secure = ({ca}: Guard, socket: Socket, {host, signal}: Place): Promise<Socket> =>
  settled(
    connectTls({
      ...{socket, host, rejectUnauthorized: true, ALPNProtocols: ['http/1.1']},
      ...(!isIP(host) && {servername: host}),
      ...(ca !== undefined && {ca}),
    }),
    'secureConnect',
    signal,
  )

/** The socket once it is ready; destroyed where it is not. */
const settled = <S extends Socket>(socket: S, ready: string, signal: AbortSignal | undefined, check = () => {}): Promise<S> =>
  new Promise((resolve, reject) => {
    const end = (error?: unknown) => {
      signal?.removeEventListener('abort', abort)
      socket.off('error', end)
      // A socket that was destroyed may still have an error to tell.
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

/** The caller's own reason where it called off; else what kept the connection from being made. */
const told = (error: unknown, {host, signal}: Pick<Place, 'host' | 'signal'>): unknown => {
  if (error instanceof OutboundFailure) return error
  if (signal?.aborted) return signal.reason
  const {name, code = name} = error as Error & {code?: string}
  if (name === 'TimeoutError')
    return new OutboundFailure('TIMED_OUT', `${host} could not be connected to in ${connectSeconds} s`, {cause: error})
  if (code === 'ENOTFOUND')
    return new OutboundFailure('UNREACHABLE', `The name ${host} is not known: look for a mistake in it`, {cause: error})
  const tls = /CERT|TLS|SSL|SIGNATURE|VERIFY/.test(code) && `${host} does not show a certificate that can be trusted (${code})`
  return new OutboundFailure('UNREACHABLE', tls || `${host} could not be connected to (${code})`, {cause: error})
}
