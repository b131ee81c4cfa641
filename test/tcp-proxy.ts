import {once} from 'node:events'
import {type AddressInfo, connect, createServer, type Socket} from 'node:net'

/** A wire that can be cut: what stands behind it is gone for whoever speaks through it. */
export type Proxy = {url: string; cut(): void; mend(): void; close(): Promise<void>}

export const openProxy = async (target: string): Promise<Proxy> => {
  const {hostname, port} = new URL(target)
  const sockets = new Set<Socket>()
  let isCut = false
  const server = createServer(client => {
    if (isCut) return client.destroy()
    const behind = connect({host: hostname, port: Number(port)})
    for (const [socket, other] of [
      [client, behind],
      [behind, client],
    ] as const) {
      sockets.add(socket)
      socket.pipe(other)
      socket.on('error', () => {}).once('close', () => other.destroy() && sockets.delete(socket))
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = new URL(target)
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const cut = () => {
    isCut = true
    for (const socket of sockets) socket.destroy()
  }
  const close = async () => {
    cut()
    server.close()
    await once(server, 'close')
  }
  return {url: url.href, cut, mend: () => (isCut = false), close}
}
