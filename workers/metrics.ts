import {once} from 'node:events'
import {createServer, type IncomingMessage, type ServerResponse} from 'node:http'
import type {AddressInfo} from 'node:net'
import type {Config} from '../shared/config.ts'
import type {Log} from '../shared/log.ts'
import {contentType, type Metrics} from '../shared/metrics/scrape.ts'
import {mayScrape} from '../shared/people/admin-token.ts'

type Scrapes = {url: string | null; close(): Promise<void>}

/** Whoever scrapes needs one connection at a time; more than a few are none of ours. */
const mostConnections = 16

/**
 * `GET /metrics` of a worker process, on a port of its own where METRICS_PORT is set: under METRICS_TOKEN or ADMIN_TOKEN as at the API. With 0
 * the system chooses one, which the log says, so that several processes of one machine can be told the same.
 */
export const listenForScrapes = async (config: Config, {metrics, log}: {metrics: Metrics; log: Log}): Promise<Scrapes> => {
  if (config.METRICS_PORT === undefined) return {url: null, close: async () => {}}
  const server = createServer({headersTimeout: 5_000, requestTimeout: 5_000, connectionsCheckingInterval: 1_000, keepAliveTimeout: 65_000})
  server.maxConnections = mostConnections
  server.on('request', (request, response) => {
    answer(request, response, {config, metrics}).catch(err => {
      log.warn({err}, 'not scraped')
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
  if (url?.split('?')[0] !== '/metrics') return refuse(response, 404, 'There is /metrics here and nothing else')
  if (method !== 'GET' && method !== 'HEAD') return refuse(response.setHeader('allow', 'GET, HEAD'), 405, 'This address takes GET')
  if (!bearer || !mayScrape(config, bearer)) return refuse(response, 403, 'This needs METRICS_TOKEN, or ADMIN_TOKEN, as a bearer')
  const text = await metrics.text()
  response.writeHead(200, {'content-type': contentType, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff'})
  response.end(method === 'HEAD' ? undefined : text)
}

const refuse = (response: ServerResponse, status: number, text: string) => {
  response.writeHead(status, {'content-type': 'text/plain; charset=utf-8', connection: 'close'})
  response.end(`${text}\n`)
}
