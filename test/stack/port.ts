import {once} from 'node:events'
import net from 'node:net'

/** Returns the wanted port of 127.0.0.1 if it is free, otherwise another free port. The port is not reserved. */
export const freePort = async (wanted = 0): Promise<number> => {
  const server = net.createServer()
  try {
    server.listen(wanted, '127.0.0.1')
    await once(server, 'listening')
    const {port} = server.address() as net.AddressInfo
    server.close()
    await once(server, 'close')
    return port
  } catch {
    return freePort()
  }
}
