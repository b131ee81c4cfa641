import {once} from 'node:events'
import {createServer, type IncomingMessage, type ServerResponse} from 'node:http'
import type {AddressInfo} from 'node:net'
import {mayScrape} from '../shared/accounts/admin-token.ts'
import type {Config} from '../shared/config.ts'
import type {Log} from '../shared/telemetry/log.ts'
import {contentType, type Metrics} from '../shared/telemetry/metrics/scrape.ts'

type Scrapes = {url: string | null; close(): Promise<void>}

/** The limit on connections. A scraper needs one at a time. */
const mostConnections = 16

/**
 * Serves `GET /metrics` of a worker process on METRICS_PORT, if it is set. Accepts METRICS_TOKEN or ADMIN_TOKEN, as the API does. For port
 * 0 the system chooses a port and the log names it, so that several processes on one machine can share a configuration.
 */
export const listenForScrapes = async (config: Config, {metrics, log}: {metrics: Metrics; log: Log}): Promise<Scrapes> => {
  if (config.METRICS_PORT === undefined) return {url: null, close: async () => {}}
  const server = createServer({headersTimeout: 5_000, requestTimeout: 5_000, connectionsCheckingInterval: 1_000, keepAliveTimeout: 65_000})
  server.maxConnections = mostConnections
  server.on('request', (request, response) => {
    answer(request, response, {config, metrics}).catch(err => {
      log.warn({err}, 'could not answer a scrape')
      response.destroy()
    })
  })
  server.listen(config.METRICS_PORT, config.HOST)
  await once(server, 'listening')
  const {address, port} = server.address() as AddressInfo
  const url = `http://${address.includes(':') ? `[${address}]` : address}:${port}/metrics`
  log.info({url}, 'metrics')
  return {
    url,
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

const answer = async (
  {method, url, headers}: IncomingMessage,
  response: ServerResponse,
  {config, metrics}: {config: Config; metrics: Metrics},
) => {
  const [, bearer] = /^bearer +(\S+)$/i.exec(headers.authorization ?? '') ?? []
  if (url?.split('?')[0] !== '/metrics') return refuse(response, 404, 'Not found. Request /metrics')
  if (method !== 'GET' && method !== 'HEAD') return refuse(response.setHeader('allow', 'GET, HEAD'), 405, 'Method not allowed. Use GET')
  if (!bearer || !mayScrape(config, bearer)) return refuse(response, 403, 'Send METRICS_TOKEN or ADMIN_TOKEN as a bearer token')
  const text = await metrics.text()
  response.writeHead(200, {'content-type': contentType, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff'})
  response.end(method === 'HEAD' ? undefined : text)
}

const refuse = (response: ServerResponse, status: number, text: string) => {
  response.writeHead(status, {'content-type': 'text/plain; charset=utf-8', connection: 'close'})
  response.end(`${text}\n`)
}
