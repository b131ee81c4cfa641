import {once} from 'node:events'
import {createServer, type Server, STATUS_CODES} from 'node:http'
import type {AddressInfo, Socket} from 'node:net'
import type {Middleware} from 'koa'
import type {Config} from '../shared/config.ts'
import {createApp} from './app.ts'
import {watchMaintenance} from './maintenance.ts'
import type {ApiDeps} from './route.ts'

export type ListeningServer = {url: string; drain(): Promise<void>}

const headersWithinMs = 10_000
const idleConnectionMs = 65_000
/** The time after which an idle socket is closed, in ms. It exceeds the longest wait of a request for its job: 330 seconds (`awaitJob`). */
const stalledMs = 340_000

/** Options for tests. `observer`: a middleware that sees every response. `stalledMs`: the time after which an idle socket is closed. */
type ListenOptions = {observer?: Middleware; stalledMs?: number}

/** Serves until drained. Draining refuses new connections, ends waits early and finishes requests in flight within DRAIN_SECONDS. */
export const listen = async (deps: ApiDeps, {observer, ...tuned}: ListenOptions = {}): Promise<ListeningServer> => {
  const {HOST, PORT, DRAIN_SECONDS} = deps.config
  // Uploads may take long, so there is no request timeout here. JSON bodies have a separate timeout.
  const server = createServer({
    headersTimeout: headersWithinMs,
    requestTimeout: 0,
    connectionsCheckingInterval: 1000,
    keepAliveTimeout: idleConnectionMs,
  })
  server.on('clientError', answerUnreadable)
  // Without this timeout, a client that does not read its response would keep the connection open for ever.
  server.setTimeout(tuned.stalledMs ?? stalledMs)
  const maintenance = await watchMaintenance(deps)
  server.listen(PORT, HOST)
  await once(server, 'listening')
  const url = urlOf(server)
  const config = PORT === 0 ? rememberPort(deps.config, url) : deps.config
  const draining = new AbortController()
  server.on('request', createApp({...deps, config}, {isInMaintenance: maintenance.isOn, draining: draining.signal, observer}).callback())
  server.on('request', (_, response) =>
    response.once('close', () => draining.signal.aborted && setImmediate(() => server.closeIdleConnections())),
  )
  const drain = async () => {
    draining.abort()
    await close(server, DRAIN_SECONDS)
    await maintenance.close()
  }
  return {url, drain}
}

/** Sets the real port in PUBLIC_URL. With PORT=0, the port is known only after listening. */
const rememberPort = (config: Config, url: string): Config => (config.PUBLIC_URL.endsWith(':0') ? {...config, PUBLIC_URL: url} : config)

/** Closes idle connections now, and busy ones after their response. After `seconds`, closes all. */
const close = async (server: Server, seconds: number) => {
  const closed = once(server, 'close')
  server.close()
  const timer = setTimeout(() => server.closeAllConnections(), seconds * 1000)
  await closed
  clearTimeout(timer)
}

const urlOf = (server: Server) => {
  const {address, port, family} = server.address() as AddressInfo
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}

const UNREADABLE: Record<string, [number, string, string]> = {
  HPE_HEADER_OVERFLOW: [431, 'INVALID', 'The headers are too large. Send smaller headers'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'REQUEST_TIMEOUT', 'The request took too long to arrive. Send it again'],
}

/** Answers malformed HTTP, which never reaches the app, with the error envelope. */
const answerUnreadable = (error: Error & {code?: string}, socket: Socket) => {
  if (!socket.writable || error.code === 'ECONNRESET') return socket.destroy()
  const [status, code, message] = UNREADABLE[error.code ?? ''] ?? [400, 'INVALID', 'The request is not valid HTTP']
  const body = JSON.stringify({error: message, code})
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}`
  return socket.end(`${head}\r\nconnection: close\r\n\r\n${body}`)
}
