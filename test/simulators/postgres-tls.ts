import {type AddressInfo, connect as connectTcp, createServer, type Socket} from 'node:net'
import {TLSSocket} from 'node:tls'

/**
 * Starts a proxy that adds TLS to a Postgres without a certificate: it accepts the SSLRequest and forwards the decrypted bytes. Source:
 * https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-SSL
 */
export const startPostgresTls = async (port: number, {cert, key}: {cert: string; key: string}) => {
  const open = new Set<Socket>()
  const server = createServer(socket => {
    keep(open, socket)
    socket.once('data', () => {
      socket.write('S')
      const secure = new TLSSocket(socket, {isServer: true, cert, key})
      const target = connectTcp(port, '127.0.0.1')
      keep(open, target)
      secure.on('error', () => target.destroy())
      secure.pipe(target).pipe(secure)
    })
  })
  await new Promise<void>(done => void server.listen(0, '127.0.0.1', done))
  const stop = async () => {
    for (const socket of open) socket.destroy()
    await new Promise(done => server.close(done))
  }
  return {port: (server.address() as AddressInfo).port, stop}
}

const keep = (open: Set<Socket>, socket: Socket) => {
  open.add(socket)
  socket.on('error', () => {}).on('close', () => open.delete(socket))
}
