import {once} from 'node:events'
import {createServer, type Server, STATUS_CODES} from 'node:http'
import type {AddressInfo, Socket} from 'node:net'
import type {Middleware} from 'koa'
import type {Config} from '../shared/config.ts'
import {createApp} from './app.ts'
import {watchMaintenance} from './maintenance.ts'
import type {Tools} from './route.ts'

export type Listening = {url: string; drain(): Promise<void>}

const headersWithinMs = 10_000
const idleConnectionMs = 65_000
/** Nothing asked, nothing answered, nothing read: longer than any wait that a request may ask for. */
const stalledMs = 300_000

/** `stalledMs` is for tests, which have no five minutes. */
type Surroundings = {witness?: Middleware; stalledMs?: number}

/** Serves until drained: then nobody new is let in, waits end early, and what is in flight is finished within DRAIN_SECONDS. */
export const listen = async (tools: Tools, {witness, ...tuned}: Surroundings = {}): Promise<Listening> => {
  const {HOST, PORT, DRAIN_SECONDS} = tools.config
  // An upload takes its time; JSON bodies have a bound of their own.
  const server = createServer({
    headersTimeout: headersWithinMs,
    requestTimeout: 0,
    connectionsCheckingInterval: 1000,
    keepAliveTimeout: idleConnectionMs,
  })
  server.on('clientError', answerUnreadable)
  // Whoever does not read an answer would hold it and its connection for ever.
  server.setTimeout(tuned.stalledMs ?? stalledMs)
  const maintenance = await watchMaintenance(tools)
  server.listen(PORT, HOST)
  await once(server, 'listening')
  const url = urlOf(server)
  const config = PORT === 0 ? knowPort(tools.config, url) : tools.config
  const draining = new AbortController()
  server.on('request', createApp({...tools, config}, {isInMaintenance: maintenance.isOn, draining: draining.signal, witness}).callback())
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

/** With PORT=0 our own address is known only now. */
const knowPort = (config: Config, url: string): Config => (config.PUBLIC_URL.endsWith(':0') ? {...config, PUBLIC_URL: url} : config)

/** Connections between two requests end now, the others after their answer; at the end of the time all of them. */
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
  HPE_HEADER_OVERFLOW: [431, 'INVALID', 'The headers are too large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'REQUEST_TIMEOUT', 'The request took too long'],
}

/** What is not HTTP never reaches the app, and is told in the same envelope. */
const answerUnreadable = (error: Error & {code?: string}, socket: Socket) => {
  if (!socket.writable || error.code === 'ECONNRESET') return socket.destroy()
  const [status, code, message] = UNREADABLE[error.code ?? ''] ?? [400, 'INVALID', 'This is not an HTTP request']
  const body = JSON.stringify({error: message, code})
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}`
  return socket.end(`${head}\r\nconnection: close\r\n\r\n${body}`)
}
