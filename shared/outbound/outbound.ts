import type {Socket} from 'node:net'
import {Client, type Dispatcher} from 'undici'
import type {Config} from '../config.ts'
import {startClock} from '../crm/deadline.ts'
import {connectGuarded, connectSecure, type Guard, type Place, type Resolve} from './connect.ts'
import {OutboundFailure} from './failure.ts'
import {hostOf, isPrivateHost, placeOf, portOf, readHost} from './hosts.ts'

type Asked = {
  /** The org the call is made for: the operator may list a private host for one org alone. */
  org?: string
  method?: 'GET' | 'HEAD' | 'POST' | 'PUT'
  headers?: Record<string, string>
  body?: string | Buffer
  signal?: AbortSignal | undefined
  /** Of the answer's body: past it reading fails with TOO_LARGE. 64 KiB where nothing is said. */
  limitBytes?: number
  /** From the name to the last byte of the answer. 30 where nothing is said. */
  timeoutSeconds?: number
  /** Without a byte. 30 where nothing is said. */
  idleSeconds?: number
}

/** Of any status but 3xx. Either its body is read to the end (or left early), or it is discarded: until then it holds its connection. */
export type Answer = {
  status: number
  headers: Record<string, string | undefined>
  body: AsyncIterable<Uint8Array>
  /** From a host of PRIVATE_HOSTS: nobody of an org is shown more of it than its status. */
  isPrivate: boolean
  discard(): void
}

export type Outbound = {
  /** One request, sent once. Throws OutboundFailure, or the reason of the caller's own signal; so does reading the body. */
  request(url: string, asked?: Asked): Promise<Answer>
  /** A connection in the clear, for what brings its own protection. Throws the same. */
  connect(place: Place & {org?: string | undefined}): Promise<Socket>
  /** What the operator lets schedules fetch from. */
  sourceHosts: string[]
  /** Ends what is under way. */
  close(): Promise<void>
}

/** For tests: another resolver, and the one who signed their server's certificate. */
type Standins = {resolve?: Resolve; ca?: string}

export const openOutbound = (
  {PRIVATE_HOSTS: privateHosts, SOURCE_HOSTS: sourceHosts}: Pick<Config, 'PRIVATE_HOSTS' | 'SOURCE_HOSTS'>,
  standins: Standins = {},
): Outbound => {
  const guard: Guard = {privateHosts, ...standins}
  const closing = new AbortController()
  const within = (signal: AbortSignal | undefined) => (signal ? AbortSignal.any([signal, closing.signal]) : closing.signal)
  return {
    sourceHosts,
    async request(url, {org, ...asked} = {}) {
      const own = {...guard, org}
      return send(own, readUrl(own, url), {...asked, signal: within(asked.signal)})
    },
    async connect({host, port, signal, org}) {
      const known = readHost(host)
      if (known === null) throw new OutboundFailure('HOST_REFUSED', 'This is not the name of a host')
      return connectGuarded({...guard, org}, {host: known, port, signal: within(signal)})
    },
    close: async () => closing.abort(new OutboundFailure('UNREACHABLE', 'This process is stopping')),
  }
}

/** The first bytes of an answer as text, for a log; the rest is not waited for. */
export const readStart = async ({body, discard}: Answer, mostBytes: number): Promise<string> => {
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

/** As `openOutbound` would take it. Throws OutboundFailure. */
export const readUrl = (guard: Pick<Guard, 'privateHosts' | 'org'>, text: string): URL => {
  if (!URL.canParse(text)) throw new OutboundFailure('HOST_REFUSED', 'This is not a web address: it starts with https:// and names a host')
  const url = new URL(text)
  if (url.username || url.password)
    throw new OutboundFailure('HOST_REFUSED', 'A user or a password is not written into a web address: give them apart from it')
  if (url.protocol === 'https:' || (url.protocol === 'http:' && isPrivateAt(guard, url))) return url
  throw new OutboundFailure('HOST_REFUSED', 'Only https is spoken with the outside: the address must start with https://')
}

const isPrivateAt = ({privateHosts, org = null}: Pick<Guard, 'privateHosts' | 'org'>, url: URL) =>
  isPrivateHost(privateHosts, placeOf(hostOf(url), portOf(url)), org)

const usualLimitBytes = 64 * 1024
const usualSeconds = 30
const longestHeadersBytes = 16 * 1024

const send = async (guard: Guard, url: URL, asked: Asked): Promise<Answer> => {
  const {method = 'GET', headers, body = null, signal, timeoutSeconds = usualSeconds, idleSeconds = usualSeconds} = asked
  const clock = startClock(timeoutSeconds, signal)
  const client = new Client(url.origin, {
    ...{connect: connector(guard, url, clock.signal), allowH2: false, maxHeaderSize: longestHeadersBytes},
    ...{headersTimeout: idleSeconds * 1000, bodyTimeout: idleSeconds * 1000},
  })
  const end = () => {
    clock.stop()
    // Whoever waits for it has been told.
    client.destroy().catch(() => {})
  }
  const failed = (error: unknown, status?: number) =>
    told(error, {host: hostOf(url), signal, isLate: clock.signal.aborted, timeoutSeconds, status})
  try {
    const path = `${url.pathname}${url.search}`
    // Nothing is unpacked here, so that a limit counts what is kept.
    const sent = {...headers, 'accept-encoding': 'identity'}
    const response = await client.request({method, path, headers: sent, body, signal: clock.signal, reset: true})
    // One that nobody reads ends with its clock.
    response.body.on('error', () => {})
    clock.signal.addEventListener('abort', end, {once: true})
    const isPrivate = isPrivateAt(guard, url)
    assertStays(response, url, isPrivate)
    return {...answerOf(response, asked.limitBytes ?? usualLimitBytes, {end, failed}), isPrivate}
  } catch (error) {
    end()
    throw failed(error)
  }
}

/** Only to the place the address names, whatever undici asks for. */
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
  const elsewhere =
    !isPrivate && location !== undefined && URL.canParse(location, url.href) ? ` to ${hostOf(new URL(location, url.href))}` : ''
  throw new OutboundFailure('REDIRECTED', `${hostOf(url)} answered ${status} and points elsewhere${elsewhere}: give the final address`, {
    status,
  })
}

type Ends = {end(): void; failed(error: unknown, status?: number): unknown}

const answerOf = (
  {statusCode: status, headers, body}: Dispatcher.ResponseData,
  limitBytes: number,
  {end, failed}: Ends,
): Omit<Answer, 'isPrivate'> => {
  const told = single(headers)
  const tooLarge = () => new OutboundFailure('TOO_LARGE', `More than ${limitBytes} bytes came`, {status})
  const limited = async function* () {
    try {
      if (Number(told['content-length'] ?? 0) > limitBytes) throw tooLarge()
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
  return {status, headers: told, body: limited(), discard: end}
}

const single = (headers: Dispatcher.ResponseData['headers']): Record<string, string | undefined> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]))

type About = {host: string; signal: AbortSignal | undefined; isLate: boolean; timeoutSeconds: number; status: number | undefined}

const told = (error: unknown, {host, signal, isLate, timeoutSeconds, status}: About): unknown => {
  if (error instanceof OutboundFailure) return error
  if (signal?.aborted) return signal.reason
  const {name, code = name} = error as Error & {code?: string}
  const options = {cause: error, ...(status !== undefined && {status})}
  if (isLate) return new OutboundFailure('TIMED_OUT', `${host} had not answered in full after ${timeoutSeconds} s`, options)
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT')
    return new OutboundFailure('TIMED_OUT', `${host} fell silent`, options)
  if (code === 'UND_ERR_HEADERS_OVERFLOW')
    return new OutboundFailure('BAD_ANSWER', `${host} answered with headers that are too long`, options)
  const when = status === undefined ? 'before it had answered' : 'in the middle of its answer'
  return new OutboundFailure('UNREACHABLE', `The connection to ${host} broke ${when} (${code})`, options)
}
