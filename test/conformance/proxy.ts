import {once} from 'node:events'
import {createServer, request} from 'node:http'
import type {AddressInfo} from 'node:net'

/**
 * Starts a proxy that adds the bearer, which the suite cannot send. Host and Origin stay unchanged, because the suite tests them. The returned
 * URL of `/mcp` has the host name `localhost`.
 */
export const startProxy = async (target: string, bearer: string): Promise<{url: string; stop(): Promise<unknown>}> => {
  const {hostname, port} = new URL(target)
  const server = createServer((incoming, outgoing) => {
    const {method, url: path, headers} = incoming
    const passed = request({hostname, port, method, path, headers: {...headers, authorization: `Bearer ${bearer}`}}, answer => {
      outgoing.writeHead(answer.statusCode!, answer.headers)
      answer.pipe(outgoing)
    })
    passed.on('error', () => outgoing.destroy())
    outgoing.once('close', () => passed.destroy())
    incoming.pipe(passed)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const stop = async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }
  return {url: `http://localhost:${(server.address() as AddressInfo).port}/mcp`, stop}
}
