import type {Socket} from 'node:net'
import {Client, type Dispatcher} from 'undici'
import type {Config} from '../../config.ts'
import {startClock} from '../../crm/deadline.ts'
import {connectGuarded, connectSecure, type Guard, type OutboundPlace, type Resolve} from './connect.ts'
import {OutboundFailure} from './failure.ts'
import {hostOf, isPrivateHost, placeOf, portOf, readHost} from './hosts.ts'

type OutboundRequest = {
  /** The org for which the call is made, because the operator may list a private host for one org alone. */
  org?: string
  method?: 'GET' | 'HEAD' | 'POST' | 'PUT'
  headers?: Record<string, string>
  body?: string | Buffer
  signal?: AbortSignal | undefined
  /** Maximum number of bytes of the answer's body; reading more throws TOO_LARGE. Default: 64 KiB. */
  limitBytes?: number
  /** The time from name lookup to the last byte of the answer. Default: 30. */
  timeoutSeconds?: number
  /** The longest pause without a byte. Default: 30. */
  idleSeconds?: number
}

/** An answer with any status except 3xx. Its connection stays open until the caller has read the body, stopped reading, or called `discard`. */
export type OutboundAnswer = {
  status: number
  headers: Record<string, string | undefined>
  body: AsyncIterable<Uint8Array>
  /** True if the answer comes from a host in PRIVATE_HOSTS, so that users may see only its status. */
  isPrivate: boolean
  discard(): void
}

export type Outbound = {
  /** Sends a request once, without a retry. The call and the reading of the body throw OutboundFailure, or the reason of the caller's signal. */
  request(url: string, outboundRequest?: OutboundRequest): Promise<OutboundAnswer>
  /**
   * Opens an unencrypted connection, for protocols with their own encryption. `isPlain`: the protocol has no encryption, which is allowed only
   * for hosts in PRIVATE_HOSTS. Throws the same errors as `request`.
   */
  connect(place: OutboundPlace & {org?: string | undefined; isPlain?: boolean}): Promise<Socket>
  /** The hosts from which the operator lets schedules fetch. */
  sourceHosts: string[]
  close(): Promise<void>
}

/** For tests: another resolver, and the certificate authority of the test server. */
type SimulatorHosts = {resolve?: Resolve; ca?: string}

export const openOutbound = (
  {PRIVATE_HOSTS: privateHosts, SOURCE_HOSTS: sourceHosts}: Pick<Config, 'PRIVATE_HOSTS' | 'SOURCE_HOSTS'>,
  standins: SimulatorHosts = {},
): Outbound => {
  const guard: Guard = {privateHosts, ...standins}
  const closing = new AbortController()
  const within = (signal: AbortSignal | undefined) => (signal ? AbortSignal.any([signal, closing.signal]) : closing.signal)
  return {
    sourceHosts,
    async request(url, {org, ...outboundRequest} = {}) {
      const own = {...guard, org}
      return send(own, readUrl(own, url), {...outboundRequest, signal: within(outboundRequest.signal)})
    },
    async connect({host, port, signal, org, isPlain = false}) {
      const known = readHost(host)
      if (known === null) throw new OutboundFailure('HOST_REFUSED', 'This is not a valid host name')
      if (isPlain) assertPrivate({privateHosts, org}, known, port)
      return connectGuarded({...guard, org}, {host: known, port, signal: within(signal)})
    },
    close: async () => closing.abort(new OutboundFailure('UNREACHABLE', 'This process is stopping')),
  }
}

/** Returns the first `mostBytes` bytes of an answer as text, and discards the rest. */
export const readStart = async ({body, discard}: OutboundAnswer, mostBytes: number): Promise<string> => {
  const read: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body) {
    read.push(chunk)
    bytes += chunk.length
    if (bytes >= mostBytes) break
  }
  discard()
  return Buffer.concat(read).subarray(0, mostBytes).toString('utf8')
}

/** Parses a URL by the rules of outbound calls: https, or http to a private host, without credentials. Throws OutboundFailure. */
export const readUrl = (guard: Pick<Guard, 'privateHosts' | 'org'>, text: string): URL => {
  if (!URL.canParse(text))
    throw new OutboundFailure('HOST_REFUSED', 'This is not a valid URL. It must start with https:// and contain a host')
  const url = new URL(text)
  if (url.username || url.password)
    throw new OutboundFailure('HOST_REFUSED', 'The URL must not contain a user or a password. Enter them separately')
  if (url.protocol === 'https:' || (url.protocol === 'http:' && isPrivateAt(guard, url))) return url
  throw new OutboundFailure('HOST_REFUSED', 'Only https is allowed. The URL must start with https://')
}

/** Refuses an unencrypted connection, unless PRIVATE_HOSTS lists host and port for this org or for every org. */
export const assertPrivate = ({privateHosts, org = null}: Pick<Guard, 'privateHosts' | 'org'>, host: string, port: number): void => {
  if (!isPrivateHost(privateHosts, placeOf(host, port), org))
    throw new OutboundFailure('HOST_REFUSED', `Only an encrypted connection to ${host} is allowed. Turn TLS on`)
}

const isPrivateAt = ({privateHosts, org = null}: Pick<Guard, 'privateHosts' | 'org'>, url: URL) =>
  isPrivateHost(privateHosts, placeOf(hostOf(url), portOf(url)), org)

const usualLimitBytes = 64 * 1024
const usualSeconds = 30
const longestHeadersBytes = 16 * 1024

const send = async (guard: Guard, url: URL, outboundRequest: OutboundRequest): Promise<OutboundAnswer> => {
  const {method = 'GET', headers, body = null, signal, timeoutSeconds = usualSeconds, idleSeconds = usualSeconds} = outboundRequest
  const clock = startClock(timeoutSeconds, signal)
  const client = new Client(url.origin, {
    connect: connector(guard, url, clock.signal),
    allowH2: false,
    maxHeaderSize: longestHeadersBytes,
    headersTimeout: idleSeconds * 1000,
    bodyTimeout: idleSeconds * 1000,
  })
  const end = () => {
    clock.stop()
    // Errors of closing are ignored, because the caller has already received the error of the call.
    client.destroy().catch(() => {})
  }
  const failed = (error: unknown, status?: number) =>
    failureOf(error, {host: hostOf(url), signal, isLate: clock.signal.aborted, timeoutSeconds, status})
  try {
    const path = `${url.pathname}${url.search}`
    // Compression is refused, so that the limit counts the bytes received.
    const sent = {...headers, 'accept-encoding': 'identity'}
    const response = await client.request({method, path, headers: sent, body, signal: clock.signal, reset: true})
    // A body that is never read ends with the time-out, whose error is ignored here.
    response.body.on('error', () => {})
    clock.signal.addEventListener('abort', end, {once: true})
    const isPrivate = isPrivateAt(guard, url)
    assertStays(response, url, isPrivate)
    return {...answerOf(response, outboundRequest.limitBytes ?? usualLimitBytes, {end, failed}), isPrivate}
  } catch (error) {
    end()
    throw failed(error)
  }
}

/** Returns a connector that connects only to host and port of the URL, whatever undici requests. */
const connector =
  (guard: Guard, url: URL, signal: AbortSignal) =>
  (_: unknown, done: (...result: [null, Socket] | [Error, null]) => void): void => {
    const open = url.protocol === 'https:' ? connectSecure : connectGuarded
    open(guard, {host: hostOf(url), port: portOf(url), signal}).then(
      socket => done(null, socket),
      error => done(error, null),
    )
  }

const assertStays = ({statusCode: status, headers}: Dispatcher.ResponseData, url: URL, isPrivate: boolean) => {
  if (status < 300 || status > 399) return
  const {location} = single(headers)
  const target = location !== undefined && URL.canParse(location, url.href) ? new URL(location, url.href) : null
  const elsewhere = !isPrivate && target !== null ? ` to ${hostOf(target)}` : ''
  throw new OutboundFailure('REDIRECTED', `${hostOf(url)} answered ${status} and redirects${elsewhere}. Enter the final URL`, {
    status,
    location: target?.href ?? null,
  })
}

type Ends = {end(): void; failed(error: unknown, status?: number): unknown}

const answerOf = (
  {statusCode: status, headers, body}: Dispatcher.ResponseData,
  limitBytes: number,
  {end, failed}: Ends,
): Omit<OutboundAnswer, 'isPrivate'> => {
  const singleHeaders = single(headers)
  const tooLarge = () => new OutboundFailure('TOO_LARGE', `The answer has more than ${limitBytes} bytes`, {status})
  const limited = async function* () {
    try {
      if (Number(singleHeaders['content-length'] ?? 0) > limitBytes) throw tooLarge()
      let bytes = 0
      for await (const chunk of body) {
        bytes += chunk.length
        if (bytes > limitBytes) throw tooLarge()
        yield chunk as Uint8Array
      }
    } catch (error) {
      throw failed(error, status)
    } finally {
      end()
    }
  }
  return {status, headers: singleHeaders, body: limited(), discard: end}
}

const single = (headers: Dispatcher.ResponseData['headers']): Record<string, string | undefined> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]))

type About = {host: string; signal: AbortSignal | undefined; isLate: boolean; timeoutSeconds: number; status: number | undefined}

const failureOf = (error: unknown, {host, signal, isLate, timeoutSeconds, status}: About): unknown => {
  if (error instanceof OutboundFailure) return error
  if (signal?.aborted) return signal.reason
  const {name, code = name} = error as Error & {code?: string}
  const options = {cause: error, ...(status !== undefined && {status})}
  if (isLate) return new OutboundFailure('TIMED_OUT', `${host} did not answer completely within ${timeoutSeconds} s`, options)
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT')
    return new OutboundFailure('TIMED_OUT', `${host} stopped answering`, options)
  if (code === 'UND_ERR_HEADERS_OVERFLOW')
    return new OutboundFailure('BAD_ANSWER', `${host} answered with headers that are too long`, options)
  const when = status === undefined ? 'before the answer' : 'during the answer'
  return new OutboundFailure('UNREACHABLE', `The connection to ${host} broke ${when} (${code})`, options)
}
