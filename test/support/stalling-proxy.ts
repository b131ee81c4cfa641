import {once} from 'node:events'
import {type AddressInfo, connect, createServer, type Socket} from 'node:net'

/** A proxy that stops forwarding to the server after a number of bytes, until it is released. `passed`: the bytes forwarded so far. */
export type StallingProxy = {
  url: string
  passed(): number
  stallAfter(bytes: number): void
  letGo(): void
  cut(): void
  close(): Promise<void>
}

export const openStallingProxy = async (target: string): Promise<StallingProxy> => {
  const {hostname, port} = new URL(target)
  const sockets = new Set<Socket>()
  const waiting = new Set<Socket>()
  let passed = 0
  let most = Number.POSITIVE_INFINITY
  const server = createServer(client => {
    const behind = connect({host: hostname, port: Number(port)})
    behind.pipe(client)
    client.on('data', chunk => {
      passed += chunk.length
      behind.write(chunk)
      if (passed < most) return
      client.pause()
      waiting.add(client)
    })
    for (const [socket, other] of [
      [client, behind],
      [behind, client],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => {}).once('close', () => other.destroy() && sockets.delete(socket))
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    passed: () => passed,
    stallAfter(bytes) {
      most = passed + bytes
    },
    letGo() {
      most = Number.POSITIVE_INFINITY
      for (const client of waiting) client.resume()
      waiting.clear()
    },
    cut,
    async close() {
      cut()
      server.close()
      await once(server, 'close')
    },
  }
}
